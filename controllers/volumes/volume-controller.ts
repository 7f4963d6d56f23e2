import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../shared/api/volumes.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyChange, everyState, type Informer } from '../../shared/client/informer.ts'
import {
  persistentVolumeClaims as claimsResource,
  storageClasses,
  persistentVolumes as volumesResource,
} from '../../shared/client/resources.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { boundClaim, boundClaimStatus, boundVolume, classOf, isFor, matchingVolume } from './binding.ts'
import { PROVISIONED_BY, PROVISIONER, type VolumeFolders, volumeFor, volumeName } from './provisioning.ts'

const kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }

/**
 * Brings claims and volumes together, makes volumes of the class that is ours, and takes them back.
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go. Without `folders` none are made.
 */
class VolumeController implements Controller {
  readonly #client: Client
  readonly #folders: VolumeFolders | undefined
  readonly #recorder: EventRecorder
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #volumes: Informer<PersistentVolume>
  readonly #classes: Informer<StorageClass>
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext, folders?: VolumeFolders) {
    this.#client = client
    this.#folders = folders
    this.#recorder = createEventRecorder({ client, clock, log, component: 'persistentvolume-controller' })
    this.#claims = informers.whole<PersistentVolumeClaim>(claimsResource)
    this.#volumes = informers.whole<PersistentVolume>(volumesResource)
    this.#classes = informers.whole<StorageClass>(storageClasses)
    this.#queue = createLoopQueue(
      {
        clock,
        log,
        loop: 'persistentvolume-binder-controller',
        object: (key) => key.replace(/^claim\//, 'PersistentVolumeClaim ').replace(/^volume\/\//, 'PersistentVolume '),
      },
      async (key) => {
        const [what, namespace = '', name = ''] = key.split('/')
        await Promise.all([this.#claims.synced(), this.#volumes.synced(), this.#classes.synced()])
        await (what === 'claim' ? this.#syncClaim(namespace, name) : this.#syncVolume(name))
      },
    )
    this.#claims.addHandler({
      ...everyState((claim) => this.#addClaim(claim)),
      onDelete: ({ spec }) => {
        if (spec?.volumeName) this.#addVolume(spec.volumeName)
      },
    })
    this.#volumes.addHandler(everyChange((volume) => this.#volumeChanged(volume)))
    this.#classes.addHandler({ onAdd: () => this.#addWaiting() })
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #syncClaim(namespace: string, name: string): Promise<void> {
    const claim = this.#claims.get({ namespace, name })
    if (!claim || claim.metadata.deletionTimestamp) return
    const { volumeName: chosen } = claim.spec ?? {}
    if (claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost') return this.#checkLost(claim)
    const volume =
      chosen === undefined ? matchingVolume(claim, this.#volumes.list()) : this.#volumes.get({ name: chosen })
    if (volume && (volume.spec?.claimRef === undefined || isFor(volume, claim))) return this.#bind(claim, volume)
    if (chosen === undefined) await this.#provision(claim)
  }

  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { namespace, name = '', uid } = claim.metadata
    const ref = { name: volume.metadata.name ?? '' }
    const { uid: volumeUid, resourceVersion } = volume.metadata
    if (volume.spec?.claimRef?.uid !== uid) {
      const whose = boundVolume(volume, claim) as { metadata: object }
      const metadata = { ...whose.metadata, uid: volumeUid, resourceVersion }
      await this.#client.patch(volumesResource, ref, { ...whose, metadata })
    }
    if (volume.status?.phase !== 'Bound')
      await this.#client.patch(volumesResource, ref, { status: { phase: 'Bound' } }, { subresource: 'status' })
    await this.#client.patch(claimsResource, { namespace, name }, boundClaim(claim, volume))
    await this.#client.patch(claimsResource, { namespace, name }, boundClaimStatus(volume), { subresource: 'status' })
  }

  async #provision(claim: PersistentVolumeClaim): Promise<void> {
    const className = classOf(claim)
    const found = this.#classes.get({ name: className })
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      this.#recorder.record({ ...kind, regarding: claim, type, reason, message })
    if (className === '')
      return tell(
        'Normal',
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      )
    if (!found) return tell('Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`)
    if (found.provisioner !== PROVISIONER || !this.#folders) {
      const who = `'${found.provisioner}' or manually by the system administrator`
      const words = `Waiting for a volume to be created either by the external provisioner ${who}. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
      return tell('Normal', 'ExternalProvisioning', words)
    }
    try {
      await this.#client.create<PersistentVolume>(volumesResource, volumeFor(claim, found, this.#folders))
    } catch (error) {
      if (isStatus(error, 'AlreadyExists')) return
      tell('Warning', 'ProvisioningFailed', wordsOf(error))
      throw error
    }
    tell('Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeName(claim)}`)
  }

  async #checkLost(claim: PersistentVolumeClaim): Promise<void> {
    const { namespace, name = '' } = claim.metadata
    const volume = this.#volumes.get({ name: claim.spec?.volumeName ?? '' })
    const isLost = volume === undefined || !isFor(volume, claim)
    if (isLost === (claim.status?.phase === 'Lost')) return
    const phase = isLost ? 'Lost' : 'Bound'
    await this.#client.patch(claimsResource, { namespace, name }, { status: { phase } }, { subresource: 'status' })
    if (!isLost) return
    const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'
    this.#recorder.record({ ...kind, regarding: claim, type: 'Warning', reason: 'ClaimLost', message })
  }

  async #syncVolume(name: string): Promise<void> {
    const volume = this.#volumes.get({ name })
    if (!volume) return
    const { claimRef } = volume.spec ?? {}
    if (!claimRef?.uid) return this.#setPhase(volume, 'Available')
    const ref = { namespace: claimRef.namespace, name: claimRef.name ?? '' }
    const shown =
      this.#claims.get(ref) ??
      (await this.#client.get<PersistentVolumeClaim>(claimsResource, ref).catch(ignoreNotFound))
    if (shown?.metadata.uid === claimRef.uid) {
      if (shown.spec?.volumeName === name) await this.#setPhase(volume, 'Bound')
      return
    }
    await this.#setPhase(volume, 'Released')
    if (volume.spec?.persistentVolumeReclaimPolicy === 'Delete') await this.#reclaim(volume)
  }

  async #setPhase({ metadata, status }: PersistentVolume, phase: string): Promise<void> {
    if (status?.phase === phase) return
    const { name = '', resourceVersion } = metadata
    const patch = { metadata: { resourceVersion }, status: { phase } }
    await this.#client.patch(volumesResource, { name }, patch, { subresource: 'status' }).catch(ignoreNotFound)
  }

  /** Volumes of other provisioners are not reclaimed here. */
  async #reclaim({ metadata }: PersistentVolume): Promise<void> {
    const { name = '', uid, annotations, deletionTimestamp } = metadata
    if (annotations?.[PROVISIONED_BY] !== PROVISIONER || !this.#folders || deletionTimestamp) return
    await this.#folders.remove(name)
    await this.#client.delete(volumesResource, { name }, { preconditions: { uid } }).catch(ignoreNotFound)
  }

  #addClaim({ metadata }: PersistentVolumeClaim): void {
    this.#queue.add(`claim/${metadata.namespace}/${metadata.name}`)
  }

  #addVolume(name = ''): void {
    this.#queue.add(`volume//${name}`)
  }

  #addWaiting(): void {
    for (const claim of this.#claims.list()) if (claim.status?.phase !== 'Bound') this.#addClaim(claim)
  }

  #volumeChanged({ metadata, spec }: PersistentVolume): void {
    this.#addVolume(metadata.name)
    const { namespace, name } = spec?.claimRef ?? {}
    if (name) this.#queue.add(`claim/${namespace}/${name}`)
    else this.#addWaiting()
  }
}

export const startVolumeController = (context: ControllerContext, folders?: VolumeFolders): Controller =>
  new VolumeController(context, folders)
