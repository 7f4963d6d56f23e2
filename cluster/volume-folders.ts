import { promises } from 'node:fs'
import { join } from 'node:path'
import type { VolumeFolders } from '../controllers/volumes/provisioning.ts'

/**
 * Folders of this machine for the volumes that claims get. Each is made by the kubelet that mounts it. Node loads
 * `promises` when it is first read.
 */
export const foldersIn = (directory: string): VolumeFolders => ({
  path: (volume) => join(directory, volume),
  remove: (volume) => promises.rm(join(directory, volume), { recursive: true, force: true }),
})
