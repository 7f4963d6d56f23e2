import { compareQuantities } from '../../shared/api/quantities/quantity.ts'
import { fromSelectorObject, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../shared/api/volumes.ts'

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'

type Classed = Pick<PersistentVolumeClaim | PersistentVolume, 'metadata'> & { spec?: { storageClassName?: string } }
/** Returns the class of a claim or a volume; empty if it has none. */
export const classOf = ({ metadata, spec }: Classed): string =>
  metadata.annotations?.[CLASS_ANNOTATION] ?? spec?.storageClassName ?? ''

/** Returns whether the volume is bound to, or reserved for, this claim. */
export function isFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { namespace, name, uid } = spec?.claimRef ?? {}
  return namespace === metadata.namespace && name === metadata.name && (uid === undefined || uid === metadata.uid)
}

/**
 * Returns the volume for a claim: one that is reserved for it, or else the smallest that matches. Pure; upstream:
 * FindMatchingVolume in component-helpers/storage/volume.
 */
export function matchingVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
): PersistentVolume | undefined {
  const { spec = {} } = claim
  const selector = spec.selector && fromSelectorObject(spec.selector)
  const wanted = spec.resources?.requests?.storage ?? '0'
  const size = (volume: PersistentVolume): string => volume.spec?.capacity?.storage ?? '0'
  const candidates = [...volumes].filter((volume) => {
    const { accessModes = [], volumeMode = 'Filesystem', claimRef } = volume.spec ?? {}
    if (volume.metadata.deletionTimestamp || (claimRef && !isFor(volume, claim))) return false
    if (volumeMode !== (spec.volumeMode ?? 'Filesystem') || compareQuantities(size(volume), wanted) < 0) return false
    if (claimRef) return true
    const isFree = volume.status?.phase === 'Available'
    const fits = (spec.accessModes ?? []).every((mode) => accessModes.includes(mode))
    const isMeant = !selector || matchesLabels(selector, volume.metadata.labels)
    return isFree && fits && isMeant && classOf(volume) === classOf(claim)
  })
  const isKept = (volume: PersistentVolume): number => (volume.spec?.claimRef ? 0 : 1)
  const [best] = candidates.sort((a, b) => isKept(a) - isKept(b) || compareQuantities(size(a), size(b)))
  return best
}

const BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller'
const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'

/** Returns the patch that binds a volume to its claim. */
export const boundVolume = (volume: PersistentVolume, { metadata }: PersistentVolumeClaim): object => ({
  metadata: volume.spec?.claimRef?.uid ? {} : { annotations: { [BY_CONTROLLER]: 'yes' } },
  spec: {
    claimRef: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: metadata.namespace,
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    },
  },
})

/** Returns the patch that binds a claim to its volume. */
export const boundClaim = (claim: PersistentVolumeClaim, { metadata }: PersistentVolume): object => ({
  metadata: {
    annotations: { [BIND_COMPLETED]: 'yes', ...(claim.spec?.volumeName ? {} : { [BY_CONTROLLER]: 'yes' }) },
  },
  spec: { volumeName: metadata.name },
})

export const boundClaimStatus = ({ spec }: PersistentVolume): object => ({
  status: { phase: 'Bound', accessModes: spec?.accessModes, capacity: spec?.capacity },
})
