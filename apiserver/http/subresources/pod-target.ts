import { badRequest, notFound } from '../../../shared/api/status/status-errors.ts'
import type { Node, Pod } from '../../../shared/api/types.ts'
import type { ApiContext } from '../api-context.ts'

/**
 * The container that is asked for, or the only one: kubectl alone knows of a default among several. Upstream:
 * pkg/registry/core/pod/strategy.go.
 */
export function chooseContainer({ metadata, spec }: Pod, asked: string): string {
  const regular = spec.containers.map(({ name }) => name)
  const all = [
    ...(spec.initContainers ?? []).map(({ name }) => name),
    ...regular,
    ...((spec.ephemeralContainers ?? []) as { name: string }[]).map(({ name }) => name),
  ]
  if (asked !== '') {
    if (all.includes(asked)) return asked
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`)
  }
  if (regular.length === 1) return regular[0]!
  const shown = all.length > 0 ? `, choose one of: [${all.join(' ')}]` : ''
  throw badRequest(`a container name must be specified for pod ${metadata.name}${shown}`)
}

/** Where the pod is; a node that is not there is, oddly, called a pod. */
export function nodeOf({ registry }: ApiContext, { spec }: Pod): Node {
  const node = registry.lookup({ group: '', plural: 'nodes' }, undefined, spec.nodeName ?? '')
  if (!node) throw notFound({ group: '', plural: 'pods' }, spec.nodeName ?? '')
  return node as unknown as Node
}
