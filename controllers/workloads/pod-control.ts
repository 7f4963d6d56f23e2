import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta, Pod, PodTemplateSpec } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import type { Reason } from '../../shared/reasons/reason-table.ts'
import type { EventRecorder } from '../event-recorder.ts'
import { controllerReference, type OwnerKind } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

interface Owner {
  metadata: ObjectMeta
}

/** Words the event about a pod that was created or deleted or, with an error, was not. */
export type Wording = (done: { verb: 'create' | 'delete'; owner: Owner; pod: string; error?: unknown }) => string

const usualWords: Wording = ({ verb, pod, error }) => {
  if (error !== undefined) return `Error ${verb === 'create' ? 'creating' : 'deleting'}: ${wordsOf(error)}`
  return `${verb === 'create' ? 'Created' : 'Deleted'} pod: ${pod}`
}

/** Makes and deletes the pods of workloads, and says so in events of the owner. */
export interface PodControl {
  /** `change` has the last word on the pod. */
  create(owner: Owner, template: PodTemplateSpec, change?: (pod: Pod) => void): Promise<Pod>
  /** A pod that is gone already is deleted. `reason`: what the pod's hooks are told. */
  delete(owner: Owner, pod: TrimmedPod, reason?: Reason): Promise<void>
}

/**
 * Creates and deletes pods, and records events about it. Upstream: RealPodControl in
 * pkg/controller/controller_utils.go.
 */
export function createPodControl({
  client,
  recorder,
  kind,
  words = usualWords,
}: {
  client: Client
  recorder: EventRecorder
  kind: OwnerKind
  words?: Wording
}): PodControl {
  const tell = (done: Parameters<Wording>[0]): void => {
    const failed = done.error !== undefined
    const what = done.verb === 'create' ? 'Create' : 'Delete'
    recorder.record({
      ...kind,
      regarding: done.owner,
      type: failed ? 'Warning' : 'Normal',
      reason: `${failed ? 'Failed' : 'Successful'}${what}`,
      message: words(done),
    })
  }

  return {
    async create(owner, template, change = () => {}) {
      const pod = podFromTemplate(template, owner.metadata, kind)
      change(pod)
      try {
        const created = await client.create<Pod>(pods, pod)
        tell({ verb: 'create', owner, pod: created.metadata.name ?? '' })
        return created
      } catch (error) {
        if (!isNamespaceGoing(error)) tell({ verb: 'create', owner, pod: pod.metadata.name ?? '', error })
        throw error
      }
    },
    async delete(owner, { metadata }, reason) {
      const { namespace, name = '', uid } = metadata
      try {
        await client.delete(pods, { namespace, name }, { preconditions: { uid }, ...(reason && { reason }) })
        tell({ verb: 'delete', owner, pod: name })
      } catch (error) {
        if (isStatus(error, 'NotFound') || isStatus(error, 'Conflict')) return
        tell({ verb: 'delete', owner, pod: name, error })
        throw error
      }
    },
  }
}

/** A pod of the template, named by its owner. */
function podFromTemplate({ metadata, spec }: PodTemplateSpec, owner: ObjectMeta, kind: OwnerKind): Pod {
  return structuredClone({
    metadata: {
      namespace: owner.namespace,
      generateName: `${owner.name}-`,
      labels: { ...metadata?.labels },
      annotations: { ...metadata?.annotations },
      finalizers: metadata?.finalizers ?? [],
      ownerReferences: [controllerReference(kind, owner)],
    },
    spec: spec ?? { containers: [] },
  })
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
