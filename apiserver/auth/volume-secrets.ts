import type { PersistentVolume } from '../../shared/api/volumes.ts'

interface SecretName {
  namespace?: string
  name: string
}
interface SecretRef {
  namespace?: string
  name?: string
}

/**
 * Secrets that a kubelet needs to mount the volume; those of the CSI controller are not among them. Upstream:
 * pkg/api/v1/persistentvolume/util.go.
 */
export function volumeSecrets({ spec }: PersistentVolume): SecretName[] {
  if (!spec) return []
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = spec
  const refs: (SecretRef | undefined)[] = [
    azureFile && { namespace: azureFile.secretNamespace, name: azureFile.secretName },
    ...[cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef),
    ...[csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef],
  ]
  return refs.flatMap((ref) =>
    ref?.name ? [{ namespace: ref.namespace || spec.claimRef?.namespace, name: ref.name }] : [],
  )
}
