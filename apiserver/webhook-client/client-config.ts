import type { Dial } from '../../shared/http/dial.ts'

/** Where a webhook is, as configurations and custom resource definitions say it. */
export interface ClientConfig {
  url?: string
  service?: ServiceReference
  /** Holds PEM in base64; by default the CAs that this machine trusts. */
  caBundle?: string
}
export interface ServiceReference {
  namespace: string
  name: string
  path?: string
  port?: number
}

/**
 * Returns the current address for a port of a service. Throws an Error in upstream's words if the service has no
 * address.
 */
export type ResolveService = (service: { namespace: string; name: string; port: number }) => Dialled

/** Says where to connect to; by `dial`, where that is not possible from here. */
export interface Dialled {
  address: string
  port: number
  dial?: Dial
}

export const HTTPS_PORT = 443

/**
 * Returns the URL of a webhook, with its timeout as a query parameter. Upstream: apiserver/pkg/util/webhook/client.go.
 */
export function urlOf({ url, service }: ClientConfig, timeoutSeconds: number): URL {
  const { namespace, name, path = '', port = HTTPS_PORT } = service ?? { namespace: '', name: '' }
  const target = new URL(url ?? `https://${name}.${namespace}.svc:${port}`)
  if (service && path !== '') target.pathname = path
  target.pathname = cleaned(target.pathname)
  target.searchParams.set('timeout', `${timeoutSeconds}s`)
  return target
}

/** `//a//b/` → `/a/b`, as Go joins paths. */
const cleaned = (path: string): string => path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')

/** Go keeps a port that says nothing new; JavaScript's URLs drop it. */
export function shownUrl(url: URL, { service }: ClientConfig): string {
  const { port = HTTPS_PORT } = service ?? {}
  return service && port === HTTPS_PORT ? url.href.replace(url.host, `${url.host}:${port}`) : url.href
}

export const pemOf = ({ caBundle }: ClientConfig): string | undefined =>
  caBundle ? Buffer.from(caBundle, 'base64').toString('latin1') : undefined
