import { type FSWatcher, watch } from 'node:fs'
import path from 'node:path'

/** Tells of each file that the shim writes into its events directory: `onEvent('…', 'pid' | 'exit' | 'pipes')`. May tell twice. */
export function watchShimEvents(root: string, onEvent: (id: string, kind: string) => void): { close(): void } {
  const watcher: FSWatcher = watch(path.join(root, 'events'), (_type, file) => {
    if (!file) return
    const dot = file.lastIndexOf('.')
    onEvent(file.slice(0, dot), file.slice(dot + 1))
  })
  watcher.on('error', () => {})
  return { close: () => watcher.close() }
}
