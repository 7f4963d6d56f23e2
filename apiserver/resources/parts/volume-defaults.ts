import type { PodSpec } from '../../../shared/api/types.ts'

type Volume = NonNullable<PodSpec['volumes']>[number]

/** The sources that pods and persistent volumes have in common. */
export function defaultVolumeSource(
  source: Pick<Volume, 'azureDisk' | 'hostPath'> & { [K in 'iscsi' | 'rbd' | 'scaleIO']?: object },
): void {
  const volume = source as Volume
  if (volume.hostPath) volume.hostPath.type ??= ''
  if (volume.iscsi) volume.iscsi.iscsiInterface ||= 'default'
  if (volume.rbd) {
    volume.rbd.pool ||= 'rbd'
    volume.rbd.user ||= 'admin'
    volume.rbd.keyring ||= '/etc/ceph/keyring'
  }
  if (volume.scaleIO) {
    volume.scaleIO.storageMode ||= 'ThinProvisioned'
    volume.scaleIO.fsType ||= 'xfs'
  }
  if (volume.azureDisk) {
    volume.azureDisk.cachingMode ??= 'ReadWrite'
    volume.azureDisk.kind ??= 'Shared'
    volume.azureDisk.fsType ??= 'ext4'
    volume.azureDisk.readOnly ??= false
  }
}
