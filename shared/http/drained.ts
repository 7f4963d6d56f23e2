interface Ended {
  on(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
}

interface Flow extends Ended {
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
}

/** Resolves when what is written to has room again, or is closed; never in the same turn of the event loop. */
export function drained(stream: Flow): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return new Promise((resolve) => setImmediate(resolve))
  return nextRoom(stream)
}

/** Resolves at the next event that tells of room, or of the end. To be called when a write was refused. */
export function nextRoom(stream: Ended): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}
