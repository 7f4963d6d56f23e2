import { ignoreNotFound, isStatus } from '../../shared/api/status-error.ts'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../shared/api/volumes.ts'
import {
  persistentVolumeClaims as claimsResource,
  storageClasses,
  persistentVolumes as volumesResource,
} from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { boundClaim, boundClaimStatus, boundVolume, classOf, isFor, matchingVolume } from './binding.ts'
import { PROVISIONED_BY, PROVISIONER, type VolumeFolders, volumeFor, volumeName } from './provisioning.ts'

const kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }

/**
 * Brings claims and volumes together, makes volumes of the class that is ours, and takes them back.
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go. Without `folders` none are made.
 */
export function startVolumeController(
  { client, informers, clock, log }: ControllerContext,
  folders?: VolumeFolders,
): Controller {
  const recorder = createEventRecorder({ client, clock, log, component: 'persistentvolume-controller' })
  const claims = informers.whole<PersistentVolumeClaim>(claimsResource)
  const volumes = informers.whole<PersistentVolume>(volumesResource)
  const classes = informers.whole<StorageClass>(storageClasses)

  async function syncClaim(namespace: string, name: string): Promise<void> {
    const claim = claims.get({ namespace, name })
    if (!claim || claim.metadata.deletionTimestamp) return
    const { volumeName: chosen } = claim.spec ?? {}
    if (claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost') return checkLost(claim)
    const volume = chosen === undefined ? matchingVolume(claim, volumes.list()) : volumes.get({ name: chosen })
    if (volume && (volume.spec?.claimRef === undefined || isFor(volume, claim))) return bind(claim, volume)
    if (chosen === undefined) await provision(claim)
  }

  async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { namespace, name = '', uid } = claim.metadata
    const ref = { name: volume.metadata.name ?? '' }
    const { uid: volumeUid, resourceVersion } = volume.metadata
    if (volume.spec?.claimRef?.uid !== uid) {
      const whose = boundVolume(volume, claim) as { metadata: object }
      const metadata = { ...whose.metadata, uid: volumeUid, resourceVersion }
      await client.patch(volumesResource, ref, { ...whose, metadata })
    }
    if (volume.status?.phase !== 'Bound')
      await client.patch(volumesResource, ref, { status: { phase: 'Bound' } }, { subresource: 'status' })
    await client.patch(claimsResource, { namespace, name }, boundClaim(claim, volume))
    await client.patch(claimsResource, { namespace, name }, boundClaimStatus(volume), { subresource: 'status' })
  }

  async function provision(claim: PersistentVolumeClaim): Promise<void> {
    const className = classOf(claim)
    const found = classes.get({ name: className })
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      recorder.record({ ...kind, regarding: claim, type, reason, message })
    if (className === '')
      return tell(
        'Normal',
        'FailedBinding',
        'no persistent volumes available for this claim and no storage class is set',
      )
    if (!found) return tell('Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`)
    if (found.provisioner !== PROVISIONER || !folders) {
      const who = `'${found.provisioner}' or manually by the system administrator`
      const words = `Waiting for a volume to be created either by the external provisioner ${who}. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
      return tell('Normal', 'ExternalProvisioning', words)
    }
    try {
      await client.create<PersistentVolume>(volumesResource, volumeFor(claim, found, folders))
    } catch (error) {
      if (isStatus(error, 'AlreadyExists')) return
      tell('Warning', 'ProvisioningFailed', wordsOf(error))
      throw error
    }
    tell('Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeName(claim)}`)
  }

  async function checkLost(claim: PersistentVolumeClaim): Promise<void> {
    const { namespace, name = '' } = claim.metadata
    const volume = volumes.get({ name: claim.spec?.volumeName ?? '' })
    const isLost = volume === undefined || !isFor(volume, claim)
    if (isLost === (claim.status?.phase === 'Lost')) return
    const phase = isLost ? 'Lost' : 'Bound'
    await client.patch(claimsResource, { namespace, name }, { status: { phase } }, { subresource: 'status' })
    if (!isLost) return
    const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'
    recorder.record({ ...kind, regarding: claim, type: 'Warning', reason: 'ClaimLost', message })
  }

  async function syncVolume(name: string): Promise<void> {
    const volume = volumes.get({ name })
    if (!volume) return
    const { claimRef } = volume.spec ?? {}
    if (!claimRef?.uid) return setPhase(volume, 'Available')
    const ref = { namespace: claimRef.namespace, name: claimRef.name ?? '' }
    const shown =
      claims.get(ref) ?? (await client.get<PersistentVolumeClaim>(claimsResource, ref).catch(ignoreNotFound))
    if (shown?.metadata.uid === claimRef.uid) {
      if (shown.spec?.volumeName === name) await setPhase(volume, 'Bound')
      return
    }
    await setPhase(volume, 'Released')
    if (volume.spec?.persistentVolumeReclaimPolicy === 'Delete') await reclaim(volume)
  }

  async function setPhase({ metadata, status }: PersistentVolume, phase: string): Promise<void> {
    if (status?.phase === phase) return
    const { name = '', resourceVersion } = metadata
    const patch = { metadata: { resourceVersion }, status: { phase } }
    await client.patch(volumesResource, { name }, patch, { subresource: 'status' }).catch(ignoreNotFound)
  }

  /** Those of others are theirs to take back. */
  async function reclaim({ metadata }: PersistentVolume): Promise<void> {
    const { name = '', uid, annotations, deletionTimestamp } = metadata
    if (annotations?.[PROVISIONED_BY] !== PROVISIONER || !folders || deletionTimestamp) return
    await folders.remove(name)
    await client.delete(volumesResource, { name }, { preconditions: { uid } }).catch(ignoreNotFound)
  }

  const queue = createWorkQueue<string>({
    clock,
    async work(key) {
      const [what, namespace = '', name = ''] = key.split('/')
      await Promise.all([claims.synced(), volumes.synced(), classes.synced()])
      await (what === 'claim' ? syncClaim(namespace, name) : syncVolume(name))
    },
    onError: (error, key) => log.debug({ err: error, object: key }, 'claims and volumes will be looked at again'),
  })
  const addClaim = ({ metadata }: PersistentVolumeClaim): void =>
    queue.add(`claim/${metadata.namespace}/${metadata.name}`)
  const addVolume = (name = ''): void => queue.add(`volume//${name}`)
  const addWaiting = (): void => {
    for (const claim of claims.list()) if (claim.status?.phase !== 'Bound') addClaim(claim)
  }
  const volumeChanged = ({ metadata, spec }: PersistentVolume): void => {
    addVolume(metadata.name)
    const { namespace, name } = spec?.claimRef ?? {}
    if (name) queue.add(`claim/${namespace}/${name}`)
    else addWaiting()
  }
  claims.addHandler({
    onAdd: addClaim,
    onUpdate: addClaim,
    onDelete({ spec }) {
      if (spec?.volumeName) addVolume(spec.volumeName)
    },
  })
  volumes.addHandler({ onAdd: volumeChanged, onUpdate: volumeChanged, onDelete: volumeChanged })
  classes.addHandler({ onAdd: addWaiting })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}
