import { upstreamKey } from '../../shared/api/upstream-keys.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'

type Named = Pick<ResourceDefinition, 'group' | 'plural' | 'conversion'>

const prefixes = new WeakMap<Named, string>()

/** Returns the prefix of the keys of all objects of the resource, or of those in one namespace. */
export function keyPrefix(resource: Named, namespace?: string): string {
  let prefix = prefixes.get(resource)
  if (prefix === undefined) {
    const { group, plural, conversion } = resource
    prefix = `/registry/${(conversion?.storageGroup ?? group) || 'core'}/${plural}/`
    prefixes.set(resource, prefix)
  }
  return namespace ? `${prefix}${namespace}/` : prefix
}

export const objectKey = (resource: Named, namespace: string | undefined, name: string): string =>
  keyPrefix(resource, namespace) + name

export const nameInKey = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

/**
 * Returns the key as a real server names it in messages. In a dry run a real server does not add the prefix of its
 * storage.
 */
export function messageKey(resource: Named, namespace: string | undefined, name: string, dryRun = false): string {
  const prefix = dryRun ? '/' : '/registry/'
  return upstreamKey(prefix, objectKey(resource, namespace, name))
}
