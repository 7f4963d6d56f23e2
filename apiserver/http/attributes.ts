import { parseFieldSelector } from '../../shared/api/selectors/field-selector.ts'
import type { Attributes } from '../auth/types.ts'
import { traitsOf } from '../kind/subresource-traits.ts'
import type { User } from '../kind/user.ts'
import { booleanParameter, type RequestInfo, type ResourceTarget } from './request-info.ts'

const verbs = new Map([
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

/**
 * Returns what authorization, flow control and the journal know about a request. Upstream:
 * apiserver/pkg/endpoints/filters/authorization.go.
 */
export function attributesOf({ method, path, query, target }: RequestInfo, user: User): Attributes {
  if (!target) return { user, verb: method.toLowerCase(), path }
  const { group, resource, subresource } = target
  const namespace = target.namespace ?? ownNamespace(target)
  const fieldSelector = query.get('fieldSelector') ?? undefined
  const labelSelector = query.get('labelSelector') ?? undefined
  const verb = verbOf({ method, query, target })
  // A list that selects one name is a request for that object.
  const name = target.name ?? (verb === 'deletecollection' ? undefined : selectedName(fieldSelector))
  const requested = { group, resource, subresource, namespace, name, fieldSelector, labelSelector }
  return { user, path, verb, resource: requested }
}

/** Upstream, a request for a namespace is one in that namespace: roles there allow it. */
const ownNamespace = ({ group, resource, name }: ResourceTarget): string | undefined =>
  resource === 'namespaces' && group === '' ? name : undefined

/** A malformed selector names nothing: the request is refused for it later. */
function selectedName(fieldSelector: string | undefined): string | undefined {
  if (!fieldSelector?.includes('metadata.name')) return undefined
  try {
    const named = parseFieldSelector(fieldSelector).find(({ field, equal }) => equal && field === 'metadata.name')
    return named && /^(?!\.{1,2}$)[^/%]+$/.test(named.value) ? named.value : undefined
  } catch {
    return undefined
  }
}

function verbOf({
  method,
  query,
  target,
}: Pick<RequestInfo, 'method' | 'query'> & { target: NonNullable<RequestInfo['target']> }): string {
  if (target.watchPrefix) return 'watch'
  if (method === 'GET' || method === 'HEAD') {
    if (target.name !== undefined) return 'get'
    return booleanParameter(query, 'watch') ? 'watch' : 'list'
  }
  if (method === 'DELETE' && target.name === undefined) return 'deletecollection'
  return verbs.get(method) ?? ''
}

/**
 * Returns whether the request may last for as long as the client wants. Such requests do not count towards the limits
 * of requests in flight.
 */
export const isLongRunning = ({ verb, resource }: Attributes): boolean =>
  verb === 'watch' || traitsOf(resource?.subresource).longRunning === true

const readOnly = new Set(['get', 'list', 'watch', 'head', 'options'])

export const changesNothing = ({ verb }: Attributes): boolean => readOnly.has(verb)
