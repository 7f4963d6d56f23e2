import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ApiServerConfig } from '../config.ts'
import type { ApiContext } from '../http/api-context.ts'
import type { Exchange } from '../http/exchange.ts'
import { feedOf } from '../http/instruments/record/record-feed.ts'
import { linkMs } from './sessions.ts'
import { UiSite } from './site.ts'

const sites = new WeakMap<ApiContext, UiSite>()

/** The page of an API server: made by the first who asks. */
export function siteOf(api: ApiContext, { tls, host }: Pick<ApiServerConfig, 'tls' | 'host'>): UiSite {
  const known = sites.get(api)
  if (known) return known
  const certificate = new X509Certificate(tls.cert)
  const site = new UiSite({
    clock: api.clock.machine,
    isSecure: true,
    isOwnName: (name) =>
      (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name, { wildcards: false })) !== undefined,
    checkRoom: () => feedOf(api).checkRoom(),
    stream: (response) => feedOf(api).follow(response, `https://${host}`),
    source: 'server',
  })
  sites.set(api, site)
  return site
}

export const linkTo = (site: UiSite): object => ({ path: site.link(), expiresInSeconds: linkMs / 1000 })

export function servePage(site: UiSite, exchange: Exchange): Promise<void> {
  const { request } = exchange
  return site.serve({ method: request.method, url: request.url ?? '', headers: request.headers }, exchange.takeOver())
}
