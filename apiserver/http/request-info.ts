import { percentDecoded } from '../../shared/http/percent-decoded.ts'

/** Says what a URL means in Kubernetes' grammar (upstream's RequestInfo). */
export interface RequestInfo {
  method: string
  /** Without the query, as sent. */
  path: string
  query: Query
  /** Holds the resource of the request; absent for other paths, such as /healthz and discovery. */
  target?: ResourceTarget
}

export interface ResourceTarget {
  group: string
  version: string
  /** Names the resource in the plural, as in the URL. */
  resource: string
  namespace?: string
  /** The path has an empty segment in the place of the namespace. */
  emptyNamespace?: boolean
  name?: string
  subresource?: string
  /** Holds the segments behind the subresource, for proxies. */
  rest: string[]
  /** True for the deprecated prefix /watch/. */
  watchPrefix: boolean
}

/** Query parameters, parsed on first use. */
export type Query = Pick<URLSearchParams, 'get' | 'getAll' | 'has'>

/** Holds no parameters: the query of a URL without a question mark. */
export const noQuery: Query = new URLSearchParams()

export function parseRequestInfo(method: string, url: string): RequestInfo {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = mark === -1 ? noQuery : readQuery(url.slice(mark + 1))
  return { method, path, query, target: parseTarget(path) }
}

/** Go leaves out pairs that it cannot read. */
function readQuery(text: string): Query {
  const read = /[;%]/.test(text)
    ? text
        .split('&')
        .filter((pair) => !unreadable.test(pair))
        .join('&')
    : text
  return new URLSearchParams(read)
}
const unreadable = /;|%(?![0-9a-f]{2})/i

function parseTarget(path: string): ResourceTarget | undefined {
  const parts = split(path)
  if (parts[1] === 'api' && parts.length > 3) return locate('', parts[2]!, parts, 3)
  if (parts[1] === 'apis' && parts.length > 4) return locate(parts[2]!, parts[3]!, parts, 4)
  return undefined
}

/**
 * `/a/b/` → nothing, a, b; an empty segment in the middle stays. A name with an encoded slash is no name, and stays
 * encoded.
 */
function split(path: string): string[] {
  const parts = path.split('/')
  if (parts.at(-1) === '') parts.pop()
  return path.includes('%') ? parts.map(percentDecoded) : parts
}

/** Upstream: apiserver/pkg/endpoints/request/requestinfo.go, by their names too. */
const namespaceSubresources = new Set(['status', 'finalize'])

/** `at`: where the segments of the resource begin in `parts`. */
function locate(group: string, version: string, parts: readonly string[], at: number): ResourceTarget {
  const watchPrefix = parts[at] === 'watch'
  if (watchPrefix) at += 1
  const count = parts.length - at
  let namespace: string | undefined
  let emptyNamespace = false
  if (parts[at] === 'namespaces' && count > 2 && !(count === 3 && namespaceSubresources.has(parts[at + 2]!))) {
    namespace = parts[at + 1] || undefined
    emptyNamespace = namespace === undefined
    at += 2
  }
  const [resource = '', name, subresource] = [parts[at], parts[at + 1], parts[at + 2]]
  const target = { group, version, resource, namespace, name, subresource, rest: parts.slice(at + 3), watchPrefix }
  return emptyNamespace ? { ...target, emptyNamespace } : target
}

/** Upstream's way to read booleans in queries: whatever is not plainly false is true. */
export function booleanParameter(query: Query, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}
