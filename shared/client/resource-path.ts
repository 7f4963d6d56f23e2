import type { ListQuery, ObjectRef, Resource, WatchQuery } from './client.ts'

/** `/api/v1/namespaces/default/pods/web/status`: the one place that knows how Kubernetes spells its URLs. */
export function resourcePath(
  resource: Resource,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const namespace = at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : ''
  const name = at.name ? `/${encodeURIComponent(at.name)}` : ''
  const subresource = at.subresource ? `/${at.subresource}` : ''
  return `${root}${namespace}/${resource.plural}${name}${subresource}`
}

export function listPath(resource: Resource, query: ListQuery = {}): string {
  const { namespace, ...parameters } = query
  return resourcePath(resource, { namespace }) + queryString(parameters)
}

export function watchPath(resource: Resource, query: WatchQuery): string {
  const { namespace, signal: _, sendInitialEvents, ...parameters } = query
  // The server refuses initial events without saying from which state on they may be.
  const initial = sendInitialEvents === undefined ? {} : { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' }
  return resourcePath(resource, { namespace }) + queryString({ watch: true, ...parameters, ...initial })
}

export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  return resourcePath(resource, { ...ref, subresource })
}

export function queryString(parameters: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}
