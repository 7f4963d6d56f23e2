import { StatusError } from '../../shared/api/status/status-error.ts'
import type { Attributes, RequestedResource } from './types.ts'

/** Returns the 403 (Forbidden) for a refused request, in upstream's words. */
export function refusal({ user, verb, path, resource }: Attributes, reason?: string): StatusError {
  const who = `User ${JSON.stringify(user.name)}`
  const why = reason ? `: ${reason}` : ''
  if (!resource) {
    const message = `forbidden: ${who} cannot ${verb} path ${JSON.stringify(path)}${why}`
    return new StatusError({ message, reason: 'Forbidden', details: {}, code: 403 })
  }
  const { group, name } = resource
  const qualified = group ? `${resource.resource}.${group}` : resource.resource
  const target = resource.subresource ? `${resource.resource}/${resource.subresource}` : resource.resource
  const message =
    `${qualified}${name ? ` ${JSON.stringify(name)}` : ''} is forbidden: ` +
    `${who} cannot ${verb} resource ${JSON.stringify(target)} in API group ${JSON.stringify(group)} ${scope(resource)}${why}`
  const details = { ...(name && { name }), ...(group && { group }), kind: resource.resource }
  return new StatusError({ message, reason: 'Forbidden', details, code: 403 })
}

function scope({ namespace }: RequestedResource): string {
  return namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope'
}
