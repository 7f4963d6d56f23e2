import type { KubeObject } from '../../shared/api/types.ts'

/** How plugins and strategies look at other objects. What comes back is shared: read, never change it. */
export type Lookup = (
  resource: { group: string; plural: string },
  namespace: string | undefined,
  name: string,
) => KubeObject | undefined

/** All objects of a resource, or of one namespace of it; which callers must not change either. */
export type LookupAll = (resource: { group: string; plural: string }, namespace?: string) => Iterable<KubeObject>
