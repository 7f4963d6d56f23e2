import type { HTTPGetAction } from '../../shared/api/types.ts'
import { hostPort } from '../../shared/client/network-errors.ts'
import type { ActionOptions, ActionTarget } from './action.ts'
import { resolvePort } from './port.ts'

/** A GET as probes and hooks send it; pure. Upstream: pkg/probe/http/request.go. */
export interface HttpRequest {
  scheme: 'http' | 'https'
  host: string
  port: number
  /** Holds the path with its query. */
  path: string
  /** As they go on the wire: names in canonical form, values as the bytes of UTF-8, a name once for each value. */
  headers: [name: string, value: string][]
}

export function httpRequest(action: HTTPGetAction, target: ActionTarget, options: ActionOptions): HttpRequest {
  const scheme = (action.scheme ?? 'http').toLowerCase() === 'https' ? 'https' : 'http'
  const host = action.host || target.podIP
  if (!host) throw new Error('failed to find networking container: no pod IP')
  const port = resolvePort(action.port, target)
  return { scheme, host, port, path: pathOf(action.path), headers: headersOf(action, host, port, options) }
}

export const urlOf = ({ scheme, host, port, path }: HttpRequest): string => `${scheme}://${hostPort(host, port)}${path}`

/** A URL reference: a query works, another host in it does not. */
function pathOf(path = '/'): string {
  try {
    const { pathname, search } = new URL(path.startsWith('/') ? `http://pod${path}` : path, 'http://pod/')
    return pathname + search
  } catch {
    return `/${encodeURI(path).replace(/^\/+/, '')}`
  }
}

function headersOf(
  { httpHeaders = [] }: HTTPGetAction,
  host: string,
  port: number,
  { headers: replacing = {}, userAgent, purpose }: ActionOptions,
): [string, string][] {
  const replaced = new Set(Object.keys(replacing).map((name) => name.toLowerCase()))
  const given = httpHeaders.filter(({ name }) => !replaced.has(name.toLowerCase()))
  const has = (name: string) => given.some((header) => header.name.toLowerCase() === name) || replaced.has(name)
  const headers: [string, string][] = []
  if (!has('host')) headers.push(['Host', hostPort(host, port)])
  if (!has('user-agent')) headers.push(['User-Agent', userAgent])
  if (!has('accept')) headers.push(['Accept', '*/*'])
  if (purpose === 'hook' && !has('accept-encoding')) headers.push(['Accept-Encoding', 'gzip'])
  if (purpose === 'probe' && !has('connection')) headers.push(['Connection', 'close'])
  // An empty User-Agent, Accept or Host is the way to send none.
  const optional = new Set(['user-agent', 'accept', 'host'])
  for (const { name, value = '' } of given) {
    if (value !== '' || !optional.has(name.toLowerCase())) headers.push([canonical(name), bytes(value)])
  }
  for (const [name, value] of Object.entries(replacing)) headers.push([name, bytes(value)])
  return headers
}

/** Go's canonical form: `x-test` becomes `X-Test`. */
const canonical = (name: string): string => name.toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

/** Node writes header values as Latin-1: one character for each byte. */
const bytes = (value: string): string => Buffer.from(value, 'utf8').toString('latin1')
