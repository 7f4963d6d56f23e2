import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import { persistentVolumeClaims, pods as podsResource } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { controllerReference } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { wordsOf } from '../workloads/pod-control.ts'

/** Makes the claims of pods' ephemeral volumes; they go with their pods. Upstream: pkg/controller/volume/ephemeral. */
export function startEphemeralVolumes({ client, informers, clock, log }: ControllerContext): Controller {
  const recorder = createEventRecorder({ client, clock, log, component: 'ephemeral_volume' })
  const pods = informers.pods()

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const known = pods.get({ namespace, name })
    if (!known || known.metadata.deletionTimestamp || !hasEphemeral(known)) return
    const pod = await client.get<Pod>(podsResource, { namespace, name }).catch(ignoreNotFound)
    for (const volume of pod?.spec.volumes ?? []) if (pod && volume.ephemeral) await make(pod, volume)
  }

  async function make(
    pod: TrimmedPod,
    { name: volume, ephemeral }: NonNullable<TrimmedPod['spec']['volumes']>[number],
  ): Promise<void> {
    const { namespace, name } = pod.metadata
    const template = ephemeral?.volumeClaimTemplate
    const claim = {
      metadata: {
        namespace,
        name: `${name}-${volume}`,
        labels: template?.metadata?.labels,
        annotations: template?.metadata?.annotations,
        ownerReferences: [controllerReference({ apiVersion: 'v1', kind: 'Pod' }, pod.metadata)],
      },
      spec: template?.spec,
    }
    try {
      await client.create<PersistentVolumeClaim>(persistentVolumeClaims, claim)
    } catch (error) {
      if (isStatus(error, 'AlreadyExists')) return
      const message = `ephemeral volume ${volume}: ${wordsOf(error)}`
      recorder.record({ kind: 'Pod', regarding: pod, type: 'Warning', reason: 'FailedBinding', message })
      throw error
    }
  }

  const queue = createLoopQueue({ clock, log, loop: 'ephemeral-volume-controller', object: 'Pod' }, sync)
  pods.addHandler({
    onAdd(pod) {
      if (hasEphemeral(pod)) queue.add(`${pod.metadata.namespace}/${pod.metadata.name}`)
    },
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}

const hasEphemeral = ({ spec }: TrimmedPod): boolean => spec.volumes?.some(({ ephemeral }) => ephemeral) ?? false
