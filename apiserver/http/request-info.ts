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

/** Holds what a router has found in the URL, by the names in its patterns. */
export type RouteParams = Readonly<
  Partial<Record<'group' | 'version' | 'namespace' | 'resource' | 'name' | 'subresource' | '*', string>>
>

export function parseRequestInfo(method: string, url: string, params?: RouteParams): RequestInfo {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = mark === -1 ? noQuery : new URLSearchParams(url.slice(mark + 1))
  return { method, path, query, target: params && isPlain(path, params) ? targetOf(params) : parseTarget(path) }
}

/** Whether the router has read the path as {@link parseTarget} would, so that it need not be read twice. */
const isPlain = (path: string, { resource, '*': rest }: RouteParams): boolean =>
  resource !== undefined &&
  resource !== 'namespaces' &&
  resource !== 'watch' &&
  rest === undefined &&
  !path.includes('%') &&
  !path.includes('//')

const targetOf = (params: RouteParams): ResourceTarget => ({
  group: params.group ?? '',
  version: params.version ?? '',
  resource: params.resource ?? '',
  namespace: params.namespace,
  name: params.name,
  subresource: params.subresource,
  rest: [],
  watchPrefix: false,
})

function parseTarget(path: string): ResourceTarget | undefined {
  const parts = split(path)
  if (parts[0] === 'api' && parts.length > 2) return locate('', parts[1]!, parts.slice(2))
  if (parts[0] === 'apis' && parts.length > 3) return locate(parts[1]!, parts[2]!, parts.slice(3))
  return undefined
}

/** `/a/b/` → a, b; an empty segment in the middle stays. A name with an encoded slash is no name, and stays encoded. */
export function split(path: string): string[] {
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
  const parts = path.slice(1, end).split('/')
  return path.includes('%') ? parts.map(decodeSegment) : parts
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Upstream: apiserver/pkg/endpoints/request/requestinfo.go, by their names too. */
const namespaceSubresources = new Set(['status', 'finalize'])

function locate(group: string, version: string, parts: string[]): ResourceTarget {
  const watchPrefix = parts[0] === 'watch'
  if (watchPrefix) parts = parts.slice(1)
  let namespace: string | undefined
  if (parts[0] === 'namespaces' && parts.length > 2 && !(parts.length === 3 && namespaceSubresources.has(parts[2]!))) {
    namespace = parts[1] || undefined
    parts = parts.slice(2)
  }
  const [resource = '', name, subresource, ...rest] = parts
  return { group, version, resource, namespace, name, subresource, rest, watchPrefix }
}

/** Upstream's way to read booleans in queries: whatever is not plainly false is true. */
export function booleanParameter(query: Query, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}
