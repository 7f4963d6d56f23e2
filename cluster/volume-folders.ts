import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { VolumeFolders } from '../controllers/volumes/provisioning.ts'

/** Folders of this machine for the volumes that claims get. Each is made by the kubelet that mounts it. */
export const foldersIn = (directory: string): VolumeFolders => ({
  path: (volume) => join(directory, volume),
  remove: (volume) => rm(join(directory, volume), { recursive: true, force: true }),
})
