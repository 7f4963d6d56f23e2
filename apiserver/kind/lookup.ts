import type { KubeObject } from '../../shared/api/types.ts'

/**
 * Returns an object for plugins and strategies; undefined if it does not exist. The object is shared: callers must not
 * change it.
 */
export type Lookup = (
  resource: { group: string; plural: string },
  namespace: string | undefined,
  name: string,
) => KubeObject | undefined

/** Returns all objects of a resource, or of one namespace. The objects are shared: callers must not change them. */
export type LookupAll = (resource: { group: string; plural: string }, namespace?: string) => Iterable<KubeObject>
