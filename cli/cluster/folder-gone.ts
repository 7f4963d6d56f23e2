import { existsSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Resolves when a cluster's lock has been removed, with its folder mostly: by then no command can find that cluster.
 */
export function untilGone(lock: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(dirname(lock), { persistent: false }, () => {
      if (existsSync(lock)) return
      watcher.close()
      resolve()
    })
    // The system may refuse more watches: then a removed folder is not noticed.
    watcher.on('error', () => watcher.close())
  })
}
