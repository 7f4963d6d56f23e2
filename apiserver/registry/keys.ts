import type { ResourceDefinition } from './resource-definition.ts'

type Named = Pick<ResourceDefinition, 'group' | 'plural' | 'conversion'>

/** Under it stand all objects of the resource; with a namespace, those in it. */
export const keyPrefix = ({ group, plural, conversion }: Named, namespace?: string): string =>
  `/registry/${(conversion?.storageGroup ?? group) || 'core'}/${plural}/${namespace ? `${namespace}/` : ''}`

export const objectKey = (resource: Named, namespace: string | undefined, name: string): string =>
  keyPrefix(resource, namespace) + name

/** The key as a real server names it in messages. */
export const upstreamKey = ({ plural }: Named, namespace: string | undefined, name: string): string =>
  `/registry/${plural}/${namespace ? `${namespace}/` : ''}${name}`
