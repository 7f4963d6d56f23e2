import { rmSync } from 'node:fs'

const folders = new Set<string>()

/**
 * Sees to it that the folder does not outlive this process, unless a signal kills it. Returns how to remove it before.
 */
export function goesWithProcess(folder: string): () => void {
  if (folders.size === 0) process.on('exit', removeAll)
  folders.add(folder)
  return () => {
    remove(folder)
    folders.delete(folder)
    if (folders.size === 0) process.off('exit', removeAll)
  }
}

function removeAll(): void {
  for (const folder of folders) {
    try {
      remove(folder)
    } catch {
      // Another process still writes there; this one ends anyway.
    }
  }
}

/** Processes that are about to end may still create files. */
const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
