import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../shared/api/volumes.ts'

/** Provisions a folder of this machine for each claim, as the host-path provisioners of minikube and kind do. */
export const PROVISIONER = 'kubestage.dev/host-path'
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'

/** Manages the folders behind volumes. */
export interface VolumeFolders {
  path(volume: string): string
  /** Succeeds if the folder does not exist. */
  remove(volume: string): Promise<void>
}

/** Serves as the default class for claims that name none. */
export const standardClass: StorageClass = {
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: PROVISIONER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
}

/** Returns a name that is the same for each attempt. */
export const volumeName = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`

/** Returns the volume that is provisioned for a claim. */
export function volumeFor(
  claim: PersistentVolumeClaim,
  { metadata, reclaimPolicy }: StorageClass,
  folders: VolumeFolders,
): PersistentVolume {
  const { namespace, uid, resourceVersion } = claim.metadata
  const name = volumeName(claim)
  const { accessModes, resources, volumeMode } = claim.spec ?? {}
  return {
    metadata: { name, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      accessModes,
      capacity: { storage: resources?.requests?.storage ?? '0' },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: claim.metadata.name,
        uid,
        resourceVersion,
      },
      hostPath: { path: folders.path(name), type: 'DirectoryOrCreate' },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: metadata.name,
      volumeMode,
    },
  }
}
