import type { V1VolumeAttributesClass } from '@kubernetes/client-node'
import { claimNames } from '../../shared/api/pods/pod-claims.ts'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { WithMeta } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim as Claim, PersistentVolume as Volume } from '../../shared/api/volumes.ts'
import type { Client, ObjectRef, Resource } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { persistentVolumeClaims, persistentVolumes, volumeAttributesClasses } from '../../shared/client/resources.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { Metadata } from '../informers/informers.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'

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
class VolumeProtection implements Controller {
  readonly #client: Client
  readonly #pods: Informer<TrimmedPod>
  readonly #claims: Informer<Claim>
  readonly #volumes: Informer<Volume>
  readonly #classes: Informer<AttributesClass>
  readonly #kinds: Record<string, Protected>
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext) {
    this.#client = client
    this.#pods = informers.pods()
    this.#claims = informers.selected<Claim>(persistentVolumeClaims, {
      handlers: [this.#handler('claims', () => this.#classesAgain())],
    })
    this.#volumes = informers.selected<Volume>(persistentVolumes, {
      handlers: [this.#handler('volumes', () => this.#classesAgain())],
    })
    this.#classes = informers.selected<AttributesClass>(volumeAttributesClasses, {
      handlers: [this.#handler('classes')],
    })
    this.#kinds = {
      claims: {
        resource: persistentVolumeClaims,
        finalizer: 'kubernetes.io/pvc-protection',
        get: this.#claims.get,
        isInUse: ({ metadata }) => {
          for (const pod of this.#pods.list()) {
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
        get: this.#volumes.get,
        isInUse: (volume) => (volume as Volume).status?.phase === 'Bound',
      },
      classes: {
        resource: volumeAttributesClasses,
        finalizer: 'kubernetes.io/vac-protection',
        get: this.#classes.get,
        isInUse: ({ metadata: { name = '' } }) =>
          [...this.#volumes.list()].some(({ spec }) => spec?.volumeAttributesClassName === name) ||
          [...this.#claims.list()].some((claim) => classesOf(claim).includes(name)),
      },
    }
    this.#queue = createLoopQueue(
      { clock, log, loop: 'persistentvolume-protection-controller', object: (key) => key },
      (key) => this.#protect(key),
    )
    this.#pods.addHandler({ onDelete: (pod) => this.#released(pod) })
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #released(pod: TrimmedPod): void {
    for (const name of claimNames(pod))
      this.#queue.add(keyOf('claims', { metadata: { name, namespace: pod.metadata.namespace } }))
  }

  #handler(
    kind: string,
    also: () => void = () => {},
  ): { onAdd: (object: Metadata) => void; onUpdate: (object: Metadata) => void; onDelete: () => void } {
    const changed = (object: Metadata): void => {
      this.#queue.add(keyOf(kind, object))
      also()
    }
    return { onAdd: changed, onUpdate: changed, onDelete: also }
  }

  #classesAgain(): void {
    for (const one of this.#classes.list()) if (one.metadata.deletionTimestamp) this.#queue.add(keyOf('classes', one))
  }

  async #protect(key: string): Promise<void> {
    const [kind = '', namespace, name = ''] = key.split('/')
    await Promise.all([this.#claims.synced(), this.#volumes.synced(), this.#classes.synced(), this.#pods.synced()])
    const { resource, finalizer, get, isInUse } = this.#kinds[kind]!
    const ref = { name, ...(namespace && { namespace }) }
    const object = get(ref)
    if (!object) return
    const { finalizers = [], resourceVersion, deletionTimestamp } = object.metadata
    const isProtected = finalizers.includes(finalizer)
    const wanted = deletionTimestamp === undefined || (isProtected && isInUse(object))
    if (wanted === isProtected) return
    const kept = wanted ? [...finalizers, finalizer] : finalizers.filter((other) => other !== finalizer)
    await this.#client.patch(resource, ref, { metadata: { resourceVersion, finalizers: kept } }).catch(ignoreNotFound)
  }
}

export const startVolumeProtection = (context: ControllerContext): Controller => new VolumeProtection(context)

const keyOf = (kind: string, { metadata: { namespace = '', name = '' } }: Metadata): string =>
  `${kind}/${namespace}/${name}`

const classesOf = ({ spec, status }: Claim): (string | undefined)[] => [
  spec?.volumeAttributesClassName,
  status?.currentVolumeAttributesClassName,
  status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
]
