import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { Pod } from '../../../shared/api/types.ts'
import { MIRROR } from '../../resources/parts/pod-spec/validate-annotations.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { apiReference } from './api-reference.ts'
import type { NodeRule, NodeWrite } from './node-rule.ts'

const quoted = JSON.stringify

/**
 * Allows a node to create only mirror pods that are bound to the node and refer to no other object: a reference would
 * give the node the right to read that object.
 */
export const createPod: NodeRule = (write) => {
  const { nodeName } = write
  const pod = write.object as unknown as Pod
  const node = `node ${quoted(nodeName)}`
  if (pod.metadata.annotations?.[MIRROR] === undefined)
    return `pod does not have ${quoted(MIRROR)} annotation, ${node} can only create mirror pods`
  if (pod.spec.nodeName !== nodeName) return `${node} can only create pods with spec.nodeName set to itself`
  const reference = ownerRefusal(write, pod) ?? apiReference(pod)
  if (reference === undefined || reference.startsWith('node ')) return reference
  return `${node} can not create pods that reference ${reference}`
}

function ownerRefusal({ nodeName, lookup }: NodeWrite, { metadata }: Pod): string | undefined {
  const node = `node ${quoted(nodeName)}`
  const [owner, ...more] = metadata.ownerReferences ?? []
  if (more.length > 0) return `${node} can only create pods with a single owner reference set to itself`
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName)
    return `${node} can only create pods with an owner reference set to itself`
  if (!owner.controller) return `${node} can only create pods with a controller owner reference set to itself`
  if (owner.blockOwnerDeletion) return `${node} must not set blockOwnerDeletion on an owner reference`
  const uid = lookup({ group: '', plural: 'nodes' }, undefined, nodeName)?.metadata.uid
  if (uid === undefined) throw notFound({ group: '', plural: 'node' }, nodeName)
  return owner.uid === uid ? undefined : `node ${nodeName} UID mismatch: expected ${owner.uid} got ${uid}`
}

export const deletePod: NodeRule = ({ nodeName, old }) =>
  isOn(nodeName, old) ? undefined : `node ${quoted(nodeName)} can only delete pods with spec.nodeName set to itself`

export const podStatus: NodeRule = ({ nodeName, old, object }) => {
  const node = `node ${quoted(nodeName)}`
  if (!isOn(nodeName, old)) return `${node} can only update pod status for pods with spec.nodeName set to itself`
  const [before, after] = [old, object] as unknown as [Pod, Pod]
  if (!deepEqual(before.metadata.labels ?? {}, after.metadata.labels ?? {}))
    return `${node} cannot update labels through pod status`
  const [was, is] = [before.status ?? {}, after.status ?? {}]
  if (!deepEqual(was.resourceClaimStatuses ?? [], is.resourceClaimStatuses ?? []))
    return `${node} cannot update resource claim statues`
  if (!deepEqual(was.extendedResourceClaimStatus, is.extendedResourceClaimStatus))
    return `${node} cannot update extended resource claim status`
  return undefined
}

export const evictPod: NodeRule = ({ nodeName, lookup, namespace, name }) =>
  isOn(nodeName, podOrNotFound(lookup, namespace, name))
    ? undefined
    : `node ${nodeName} can only evict pods with spec.nodeName set to itself`

/** Throws upstream's 404, which names the resource in the singular. */
export function podOrNotFound(lookup: NodeWrite['lookup'], namespace: string | undefined, name: string): Pod {
  const pod = lookup({ group: '', plural: 'pods' }, namespace, name)
  if (!pod) throw notFound({ group: '', plural: 'pod' }, name)
  return pod as unknown as Pod
}

const isOn = (nodeName: string, pod: unknown): boolean => (pod as Pod | undefined)?.spec.nodeName === nodeName
