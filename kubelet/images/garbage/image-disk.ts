import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Measures the file system that holds a folder, or will when the folder is made. */
export async function diskOf(folder: string): Promise<{ available: number; capacity: number }> {
  const { bavail, blocks, bsize } = await statfs(existing(folder))
  return { available: bavail * bsize, capacity: blocks * bsize }
}

export const onOneDisk = (folder: string, other: string): boolean =>
  statSync(existing(folder)).dev === statSync(existing(other)).dev

/** Returns the folder, or the one above it that exists. */
export function existing(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder))
}
