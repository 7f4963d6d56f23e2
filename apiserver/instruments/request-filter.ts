import { badRequest } from '../../shared/api/status/status-errors.ts'
import { suggestion } from '../../shared/config/option-types.ts'

/** Holds the facts about a request that a filter can ask for. */
export interface ObservedRequest {
  /**
   * Holds `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; the method in lower case
   * for a path that is no resource.
   */
  verb: string
  user: string
  /** Holds the path with the query. */
  path: string
  group?: string
  /** Names the resource in the plural; absent for a path that is no resource. */
  resource?: string
  subresource?: string
  namespace?: string
  name?: string
}

type OneOrMore = string | readonly string[]

/** Selects the requests that match every given field. */
export interface RequestFilter {
  verb?: OneOrMore
  /**
   * Names the resource: `pods`, `pods/status`, `deployments.apps`. `pods` alone selects no subresource, `pods/*`
   * selects all.
   */
  resource?: OneOrMore
  namespace?: OneOrMore
  name?: OneOrMore
  user?: OneOrMore
}

/** Holds the verbs of requests for resources, and the methods of other requests. */
const verbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['post', 'put', 'head', 'options'],
]

export const filterFields = ['verb', 'resource', 'namespace', 'name', 'user'] as const

/** Reads a filter that came as JSON or as a query. Throws a StatusError (400). */
export function parseFilter(given: Readonly<Record<string, unknown>>): RequestFilter {
  const filter: Record<string, OneOrMore> = {}
  for (const field of filterFields) {
    const value = given[field]
    if (value === undefined) continue
    const isList = Array.isArray(value) && value.every((item) => typeof item === 'string')
    if (typeof value !== 'string' && !isList) throw badRequest(`${field} must be text, or a list of texts`)
    if (field === 'verb') checkVerbs(value)
    filter[field] = value
  }
  return filter
}

/** A filter with a verb that no request has would select nothing, and never say so. */
function checkVerbs(given: OneOrMore): void {
  const unknown = [given].flat().find((verb) => !verbs.includes(verb))
  if (unknown !== undefined) throw badRequest(`unknown verb ${JSON.stringify(unknown)}; ${suggestion(unknown, verbs)}`)
}

export function isMeant(filter: RequestFilter, request: ObservedRequest): boolean {
  const { verb, resource, namespace, name, user } = filter
  return (
    isOneOf(verb, request.verb) &&
    isOneOf(namespace, request.namespace) &&
    isOneOf(name, request.name) &&
    isOneOf(user, request.user) &&
    (resource === undefined || [resource].flat().some((wanted) => isResource(wanted, request)))
  )
}

const isOneOf = (wanted: OneOrMore | undefined, value: string | undefined): boolean =>
  wanted === undefined || (value !== undefined && [wanted].flat().includes(value))

function isResource(wanted: string, { group = '', resource, subresource }: ObservedRequest): boolean {
  const [, plural, wantedGroup, wantedSubresource] = /^([^./]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(wanted) ?? []
  return (
    plural === resource &&
    (wantedGroup === undefined || wantedGroup === group) &&
    (wantedSubresource === '*' ? subresource !== undefined : wantedSubresource === subresource)
  )
}
