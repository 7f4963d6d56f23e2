import type { V1VolumeAttributesClass } from '@kubernetes/client-node'
import { claimNames } from '../shared/api/pod-claims.ts'
import { ignoreNotFound } from '../shared/api/status-error.ts'
import type { WithMeta } from '../shared/api/types.ts'
import type { PersistentVolumeClaim as Claim, PersistentVolume as Volume } from '../shared/api/volumes.ts'
import type { ObjectRef, Resource } from '../shared/client/client.ts'
import { persistentVolumeClaims, persistentVolumes, volumeAttributesClasses } from '../shared/client/resources.ts'
import { createWorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from './controller.ts'
import type { Metadata } from './informers.ts'
import type { TrimmedPod } from './trimmed-pod.ts'

type AttributesClass = WithMeta<V1VolumeAttributesClass>

interface Protected {
  resource: Resource
  finalizer: string
  get(ref: ObjectRef): Metadata | undefined
  isInUse(object: Metadata): boolean
}

/**
 * Lets a claim that is being deleted go when no pod uses it, a volume when it is bound no longer, a class when no claim
 * or volume uses it.
 * Upstream: pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}.
 */
export function startVolumeProtection({ client, informers, clock, log }: ControllerContext): Controller {
  const pods = informers.pods()
  const claims = informers.selected<Claim>(persistentVolumeClaims, { handlers: [handler('claims', classesAgain)] })
  const volumes = informers.selected<Volume>(persistentVolumes, { handlers: [handler('volumes', classesAgain)] })
  const classes = informers.selected<AttributesClass>(volumeAttributesClasses, { handlers: [handler('classes')] })
  const kinds: Record<string, Protected> = {
    claims: {
      resource: persistentVolumeClaims,
      finalizer: 'kubernetes.io/pvc-protection',
      get: claims.get,
      isInUse: ({ metadata }) => {
        for (const pod of pods.list()) {
          // Before it has a node it does not count: the kubelet starts none whose claim is being deleted.
          if (pod.metadata.namespace !== metadata.namespace || !pod.spec.nodeName) continue
          if (claimNames(pod).includes(metadata.name ?? '')) return true
        }
        return false
      },
    },
    volumes: {
      resource: persistentVolumes,
      finalizer: 'kubernetes.io/pv-protection',
      get: volumes.get,
      isInUse: (volume) => (volume as Volume).status?.phase === 'Bound',
    },
    classes: {
      resource: volumeAttributesClasses,
      finalizer: 'kubernetes.io/vac-protection',
      get: classes.get,
      isInUse: ({ metadata: { name = '' } }) =>
        [...volumes.list()].some(({ spec }) => spec?.volumeAttributesClassName === name) ||
        [...claims.list()].some((claim) => classesOf(claim).includes(name)),
    },
  }
  const queue = createWorkQueue<string>({
    clock,
    work: protect,
    onError: (error, key) => log.warn({ err: error, object: key }, 'cannot protect or release a volume'),
  })
  const released = (pod: TrimmedPod): void => {
    for (const name of claimNames(pod))
      queue.add(keyOf('claims', { metadata: { name, namespace: pod.metadata.namespace } }))
  }
  pods.addHandler({ onDelete: released })

  function handler(kind: string, also: () => void = () => {}) {
    const changed = (object: Metadata): void => {
      queue.add(keyOf(kind, object))
      also()
    }
    return { onAdd: changed, onUpdate: changed, onDelete: also }
  }

  function classesAgain(): void {
    for (const one of classes.list()) if (one.metadata.deletionTimestamp) queue.add(keyOf('classes', one))
  }

  async function protect(key: string): Promise<void> {
    const [kind = '', namespace, name = ''] = key.split('/')
    await Promise.all([claims.synced(), volumes.synced(), classes.synced(), pods.synced()])
    const { resource, finalizer, get, isInUse } = kinds[kind]!
    const ref = { name, ...(namespace && { namespace }) }
    const object = get(ref)
    if (!object) return
    const { finalizers = [], resourceVersion, deletionTimestamp } = object.metadata
    const isProtected = finalizers.includes(finalizer)
    const wanted = deletionTimestamp === undefined || (isProtected && isInUse(object))
    if (wanted === isProtected) return
    const kept = wanted ? [...finalizers, finalizer] : finalizers.filter((other) => other !== finalizer)
    await client.patch(resource, ref, { metadata: { resourceVersion, finalizers: kept } }).catch(ignoreNotFound)
  }

  return { close: () => queue.close() }
}

const keyOf = (kind: string, { metadata: { namespace = '', name = '' } }: Metadata): string =>
  `${kind}/${namespace}/${name}`

const classesOf = ({ spec, status }: Claim): (string | undefined)[] => [
  spec?.volumeAttributesClassName,
  status?.currentVolumeAttributesClassName,
  status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
]
