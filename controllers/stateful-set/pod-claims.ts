import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import type { StatefulSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { persistentVolumeClaims } from '../../shared/client/resources.ts'
import type { EventRecorder } from '../event-recorder.ts'
import type { Metadata } from '../informers/informers.ts'
import { controllerReference, type OwnerReference } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { claimsOf } from './identity.ts'

export const kind = { apiVersion: 'apps/v1', kind: 'StatefulSet' }

/**
 * The claims of a set's pods: made before them, and owned as its retention policy says. Upstream:
 * pkg/controller/statefulset/stateful_pod_control.go.
 */
export interface PodClaims {
  /**
   * Creates the claims. Resolves to false while a claim of an earlier pod of that number is about to go. Rejects if a
   * claim cannot be made.
   */
  ensure(set: StatefulSet, ordinal: number): Promise<boolean>
  /** Gives the pod's claims the owners that they are to have. */
  retain(set: StatefulSet, ordinal: number, state: { pod: TrimmedPod; condemned: boolean }): Promise<void>
}

export function createPodClaims({
  client,
  claims,
  pods,
  recorder,
}: {
  client: Client
  claims: Informer<Metadata>
  pods: Informer<TrimmedPod>
  recorder: EventRecorder
}): PodClaims {
  async function make(set: StatefulSet, claim: PersistentVolumeClaim, pod: string): Promise<void> {
    const { name } = claim.metadata
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      recorder.record({ ...kind, regarding: set, type, reason, message })
    const what = `create Claim ${name}`
    try {
      await client.create<PersistentVolumeClaim>(persistentVolumeClaims, claim)
      tell('Normal', 'SuccessfulCreate', `${what} Pod ${pod} in StatefulSet ${set.metadata.name} success`)
    } catch (error) {
      if (isStatus(error, 'AlreadyExists')) return
      const words = wordsOf(error)
      tell(
        'Warning',
        'FailedCreate',
        `${what} for Pod ${pod} in StatefulSet ${set.metadata.name} failed error: ${words}`,
      )
      throw error
    }
  }

  /** Returns true for the claim of a pod that is gone: the garbage collector deletes it. */
  function isStale({ metadata }: Metadata, podName: string): boolean {
    const owner = metadata.ownerReferences?.find((one) => one.kind === 'Pod' && one.name === podName)
    const pod = pods.get({ namespace: metadata.namespace, name: podName })
    return owner !== undefined && pod?.metadata.uid !== owner.uid
  }

  return {
    async ensure(set, ordinal) {
      const podName = `${set.metadata.name}-${ordinal}`
      for (const claim of claimsOf(set, ordinal).values()) {
        const { namespace, name = '' } = claim.metadata
        const known = claims.get({ namespace, name })
        if (known && (isStale(known, podName) || known.metadata.deletionTimestamp)) return false
        if (!known) await make(set, claim, podName)
      }
      return true
    },
    async retain(set, ordinal, state) {
      for (const { metadata } of claimsOf(set, ordinal).values()) {
        const { namespace, name = '' } = metadata
        const known = claims.get({ namespace, name })
        if (!known) continue
        const ownerReferences = wantedOwners(known.metadata, set, state)
        if (!ownerReferences) continue
        const { uid, resourceVersion } = known.metadata
        const patch = { metadata: { uid, resourceVersion, ownerReferences } }
        await client.patch(persistentVolumeClaims, { namespace, name }, patch).catch(ignoreNotFound)
      }
    },
  }
}

/**
 * The owners of a claim, if they are others than it has: the set, where claims go with it, or the pod, where one that
 * is scaled away takes them along. Upstream: updateClaimOwnerRefForSetAndPod in stateful_set_utils.go.
 */
export function wantedOwners(
  claim: ObjectMeta,
  set: StatefulSet,
  { pod, condemned }: { pod: TrimmedPod; condemned: boolean },
): OwnerReference[] | undefined {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy ?? {}
  const goesWithPod = condemned && whenScaled === 'Delete'
  const goesWithSet = !goesWithPod && whenDeleted === 'Delete'
  const has = claim.ownerReferences ?? []
  const others = has.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid)
  const wanted = [
    ...others,
    ...(goesWithSet ? [controllerReference(kind, set.metadata)] : []),
    ...(goesWithPod ? [controllerReference({ apiVersion: 'v1', kind: 'Pod' }, pod.metadata)] : []),
  ]
  const uids = (references: readonly OwnerReference[]): string => references.map(({ uid }) => uid).join()
  return uids(wanted) === uids(has) ? undefined : wanted
}
