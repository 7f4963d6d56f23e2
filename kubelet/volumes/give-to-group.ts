import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync } from 'node:fs'
import path from 'node:path'

/** A pod's `fsGroup`, and whether containers may only read the volume. */
export interface GroupOwner {
  group: number
  readonly: boolean
}

/** Files belong to groups and users as root says: without root they stay the kubelet's. */
export const mayChangeOwners = (): boolean => process.getuid?.() === 0

/**
 * All files of a volume become the group's: it reads them, and unless `readonly` writes them. Upstream:
 * pkg/volume/volume_linux.go changeFilePermission.
 */
export function giveToGroup(file: string, owner: GroupOwner): void {
  const stat = lstatSync(file)
  if (stat.isDirectory()) for (const name of readdirSync(file)) giveToGroup(path.join(file, name), owner)
  lchownSync(file, stat.uid, owner.group)
  if (stat.isSymbolicLink()) return
  chmodSync(file, (stat.mode & 0o7777) | (owner.readonly ? 0o440 : 0o660) | (stat.isDirectory() ? 0o2110 : 0))
}

/** True if the volume itself is not yet the group's to write. Upstream: volume_linux.go, requiresPermissionChange. */
export function isAnotherGroups(volume: string, { group }: GroupOwner): boolean {
  const { gid, mode } = lstatSync(volume)
  return gid !== group || (mode & 0o2770) !== 0o2770
}

export const giveToUser = (file: string, uid: number): void => chownSync(file, uid, lstatSync(file).gid)
