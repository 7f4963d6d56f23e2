import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { badRequest } from '../../shared/api/status-errors.ts'
import type { ApiServerConfig } from '../config.ts'
import type { ApiContext } from '../http/api-context.ts'
import { readBody } from '../http/body/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { feedOf } from '../http/instruments/record/record-feed.ts'
import type { InjectedAnswer, InjectedRequest } from '../http/plugins/injected-request.ts'
import { maxActionBytes } from './actions.ts'
import { type Actor, linkMs } from './sessions.ts'
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
    stream: (response) => feedOf(api).follow(response, `https://${host}`, { history: true }),
    source: 'server',
  })
  sites.set(api, site)
  return site
}

/**
 * Makes a link to the page. The body `{"actions": true}` asks for a page that may act as the user. Throws a StatusError
 * (400) for a body that is not JSON.
 */
export async function linkTo(site: UiSite, { request, user }: Exchange): Promise<object> {
  const text = await bodyOf(request)
  const grant = { user: { name: user.name, groups: [...user.groups] }, mayAct: mayAct(text) }
  return { path: site.link(grant), expiresInSeconds: linkMs / 1000 }
}

function mayAct(text: string): boolean {
  if (text === '') return false
  try {
    return (JSON.parse(text) as { actions?: unknown } | null)?.actions === true
  } catch (error) {
    throw badRequest(`the body is no JSON: ${(error as Error).message}`)
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> =>
  (await readBody(request, maxActionBytes)).toString('utf8')

export function servePage(site: UiSite, exchange: Exchange): Promise<void> {
  const { request, reply } = exchange
  const { method, url = '', headers } = request
  const act = async (actor: Actor, wanted: InjectedRequest): Promise<InjectedAnswer> => {
    const { inject } = await import('../http/plugins/inject.ts')
    return inject(reply.server, actor, wanted)
  }
  return site.serve({ method, url, headers, body: () => bodyOf(request), act }, exchange.takeOver())
}
