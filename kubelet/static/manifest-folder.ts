import { type FSWatcher, mkdirSync, watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Pod } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'
import { podFromManifest } from './manifest.ts'

export interface ManifestFolderOptions {
  folder: string
  nodeName: string
  clock: Clock
  onPods(pods: Pod[]): void
  onError(error: unknown, file: string): void
}
export interface ManifestFolder {
  /** Resolves when the folder has been read for the first time. */
  read: Promise<void>
  close(): void
}

/** Read again also when nothing told of a change: not every file system does. */
const REREAD_MS = 20_000
/** A file is often written in several steps. */
const SETTLE_MS = 10

/** Watches a folder whose files are pods of this node. One that cannot be read as a pod is told of, and left out. */
export function watchManifests({ folder, nodeName, clock, onPods, onError }: ManifestFolderOptions): ManifestFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  let closed = false
  let timer: Timer | undefined
  let reading: Promise<void> = Promise.resolve()

  async function podsNow(): Promise<Pod[]> {
    const pods: Pod[] = []
    for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!entry.isFile() || entry.name.startsWith('.')) continue
      const file = path.join(folder, entry.name)
      try {
        const text = readRegularFile(file)
        pods.push(await podFromManifest({ text, file, nodeName, seen: toTime(clock.now()) }))
      } catch (error) {
        onError(error, file)
      }
    }
    return pods
  }

  function read(): Promise<void> {
    reading = reading
      .then(podsNow)
      .then(
        (pods) => {
          if (!closed) onPods(pods)
        },
        (error) => onError(error, folder),
      )
      .finally(() => again(REREAD_MS))
    return reading
  }
  function again(delayMs: number): void {
    timer?.cancel()
    if (!closed) timer = clock.machine.setTimer(delayMs, () => void read(), { background: true })
  }

  let watcher: FSWatcher | undefined
  try {
    watcher = watch(folder, { persistent: false }, () => again(SETTLE_MS))
    watcher.on('error', (error) => onError(error, folder))
  } catch (error) {
    onError(error, folder)
  }
  return {
    read: read(),
    close() {
      closed = true
      timer?.cancel()
      watcher?.close()
    },
  }
}
