import type { Clock } from '../../shared/clock/clock.ts'
import type { Storage } from '../storage/storage.ts'

export interface ExpiryOptions {
  storage: Pick<Storage, 'watch' | 'list' | 'delete' | 'expire'>
  clock: Clock
  prefix: string
  /** An object expires this long after its last write. */
  ttlMs: number
  /** Bounds how many objects are kept: the objects written first are deleted first. Without it there is no limit. */
  max?: number
}

const intervalMs = 60_000

/**
 * Deletes objects that were not written for a while, as a real server does with events, so that memory stays bounded.
 */
export function startExpiry(options: ExpiryOptions): { close(): void } {
  const { storage, prefix, ttlMs, max } = options
  if (!storage.expire) return startOwnExpiry(options)
  storage.expire({ prefix, ttlMs })
  return max === undefined ? { close: () => {} } : startOwnExpiry({ ...options, ttlMs: Number.POSITIVE_INFINITY })
}

function startOwnExpiry({ storage, clock, prefix, ttlMs, max = Number.POSITIVE_INFINITY }: ExpiryOptions): {
  close(): void
} {
  // Keys are in order of their last writes, so that only the first must be checked.
  const writtenAt = new Map<string, number>()
  const watch = storage.watch({
    prefix,
    onEvents(events) {
      for (const { type, key } of events) {
        writtenAt.delete(key)
        if (type === 'put') writtenAt.set(key, clock.monotonic())
      }
      for (const key of writtenAt.keys()) {
        if (writtenAt.size <= max) break
        remove(key)
      }
    },
  })
  // Objects from an earlier run get a full period again.
  void storage.list({ prefix }).then(({ entries }) => {
    const written = entries.toSorted((a, b) => a.revision - b.revision)
    for (const { key } of written) if (!writtenAt.has(key)) writtenAt.set(key, clock.monotonic())
  })
  const remove = (key: string): void => {
    writtenAt.delete(key)
    // If a delete fails, for example on a full disk, the object gets a full period again.
    storage.delete({ key }).catch(() => writtenAt.set(key, clock.monotonic()))
  }
  const expire = (): void => {
    const oldest = clock.monotonic() - ttlMs
    for (const [key, at] of writtenAt) {
      if (at > oldest) break
      remove(key)
    }
    timer = clock.setTimer(intervalMs, expire, { background: true })
  }
  let timer = clock.setTimer(intervalMs, expire, { background: true })
  return {
    close() {
      timer.cancel()
      watch.close()
    },
  }
}
