import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../shared/api/volumes.ts'

/** The provisioner: a folder of this machine for each claim, as the host-path provisioners of minikube and kind do. */
export const PROVISIONER = 'kubestage.dev/host-path'
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'

/** Where the folders are. */
export interface VolumeFolders {
  path(volume: string): string
  /** Also of one that is not there. */
  remove(volume: string): Promise<void>
}

/** What claims get that name no class. */
export const standardClass: StorageClass = {
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: PROVISIONER,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
}

/** The name is the same however often it is tried. */
export const volumeName = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`

/** A volume made for one claim. */
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
