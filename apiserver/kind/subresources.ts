import type { ResourceDefinition, SubresourceEntry } from './resource-definition.ts'

const readAndWrite = ['get', 'patch', 'update']

/** All subresources of a kind: those that it lists, and those that it has by a flag. */
export function subresourcesOf(definition: ResourceDefinition): SubresourceEntry[] {
  const { kind, subresources, extraSubresources = [], custom } = definition
  const entries = [
    ...extraSubresources,
    ...(subresources?.status ? [{ name: 'status', kind, verbs: readAndWrite }] : []),
    ...(subresources?.scale
      ? [{ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: readAndWrite }]
      : []),
  ]
  // In custom resources status comes first.
  return custom ? entries : entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}
