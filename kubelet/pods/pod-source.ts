import { isDeepStrictEqual } from 'node:util'
import { Interned } from '../../shared/api/json/interned.ts'
import { remembered } from '../../shared/api/json/remembered.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { type Informer, startInformer } from '../../shared/client/informer.ts'
import { pods } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'

export interface PodHandler {
  onAdd(pod: Pod): void
  /** The spec, its labels, annotations or its deletion changed. */
  onUpdate(pod: Pod): void
  /** Someone, perhaps we, wrote the status. */
  onReconcile(pod: Pod): void
  onRemove(pod: Pod): void
}
export interface PodSourceOptions {
  client: Client
  clock: Clock
  nodeName: string
  handler: PodHandler
  onError(error: unknown): void
}

/** The pods bound to this node, as the API has them. */
export function startPodSource({ client, clock, nodeName, handler, onError }: PodSourceOptions): Informer<Pod> {
  return startInformer<Pod>({
    client,
    clock,
    resource: pods,
    selection: { fieldSelector: `spec.nodeName=${nodeName}` },
    onError,
    transform: createTrim(),
    handlers: [
      {
        onAdd: (pod) => handler.onAdd(pod),
        onUpdate: (pod, old) => (isMeant(pod, old) ? handler.onUpdate(pod) : handler.onReconcile(pod)),
        onDelete: (pod) => handler.onRemove(pod),
      },
    ],
  })
}

/** Templates of which the pods of a node may be. */
const MAX_SPECS = 64

/**
 * managedFields are half of a pod, and a node does not need them; what is left is mostly its spec, which pods of one
 * template share. A pod of the same generation has the same spec.
 */
function createTrim(): (pod: Pod, old?: Pod) => Pod {
  const specs = new Interned<Pod['spec']>(MAX_SPECS)
  const specOf = remembered((spec: Pod['spec']) => specs.of(spec))
  return (pod, old) => {
    const { managedFields: _, ...metadata } = pod.metadata
    const { uid, generation } = metadata
    const isSame = generation !== undefined && old?.metadata.uid === uid && old?.metadata.generation === generation
    return { ...pod, metadata, spec: isSame ? old.spec : specOf(pod.spec) }
  }
}

/**
 * A change that asks for something, in contrast to one that reports. The generation grows with every change of the
 * spec.
 */
function isMeant(pod: Pod, old: Pod): boolean {
  const parts = ({ metadata, spec }: Pod) => [
    metadata.generation,
    metadata.deletionTimestamp,
    metadata.deletionGracePeriodSeconds,
    metadata.reason,
    metadata.labels,
    metadata.annotations,
    metadata.generation === undefined && spec,
  ]
  return !isDeepStrictEqual(parts(pod), parts(old))
}
