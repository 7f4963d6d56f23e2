import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'

/**
 * Returns what a folder and everything below it uses of the disk, counted as `du` does: in blocks, not lengths. A
 * folder that does not exist uses nothing.
 */
export async function diskUsage(folder: string): Promise<{ bytes: number; inodes: number }> {
  const usage = { bytes: 0, inodes: 0 }
  const counted = new Set<number>()
  const waiting = [folder]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const found = await lstat(file).catch(() => undefined)
    if (!found || counted.has(found.ino)) continue
    counted.add(found.ino)
    usage.bytes += found.blocks * BLOCK_BYTES
    usage.inodes += 1
    if (!found.isDirectory()) continue
    for (const name of await readdir(file).catch(() => [])) waiting.push(path.join(file, name))
  }
  return usage
}

const BLOCK_BYTES = 512
