interface Flow {
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  on(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
}

/** Resolves when what is written to has room again, or is closed; never in the same turn of the event loop. */
export function drained(stream: Flow): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return new Promise((resolve) => setImmediate(resolve))
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
