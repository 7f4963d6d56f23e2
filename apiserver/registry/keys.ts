import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { upstreamKey } from '../storage/etcd/upstream-keys.ts'

type Named = Pick<ResourceDefinition, 'group' | 'plural' | 'conversion'>

const prefixes = new WeakMap<Named, string>()

/** Under it stand all objects of the resource; with a namespace, those in it. */
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

/** The key as a real server names it in messages: a dry run does not get as far as the prefix of the storage. */
export function messageKey(resource: Named, namespace: string | undefined, name: string, dryRun = false): string {
  const prefix = dryRun ? '/' : '/registry/'
  return upstreamKey(prefix, objectKey(resource, namespace, name))
}
