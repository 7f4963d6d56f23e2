import type { EventLogLimits } from './event-log.ts'
import { checkFence } from './fence.ts'
import type { Storage } from './storage.ts'
import { defaultHistory, StoreState } from './store-state.ts'

export interface MemoryStorageOptions {
  history?: EventLogLimits
  /** Receives the revision of each write before anyone is told of the write. */
  publish?(revision: number): void
}

/** The store of a process that forgets everything when it ends: nothing is quicker, and nothing is left behind. */
export function createMemoryStorage({ history = defaultHistory, publish }: MemoryStorageOptions = {}): Storage {
  const state = new StoreState(history, 1, publish)
  return {
    revision: () => state.revision,
    oldestRevision: () => state.oldestRevision,
    get: async (key) => state.get(key),
    list: async (options) => state.list(options),
    async put({ key, value, parts, expect, fence }) {
      if (fence) checkFence(fence, state.get(fence.key)?.value)
      const current = state.get(key)
      if (expect === 'absent' ? current : current?.revision !== expect) return { ok: false, current }
      const revision = state.revision + 1
      state.apply([{ key, value, parts, revision }])
      return { ok: true, revision }
    },
    async delete({ key, expect, lastValue, fence }) {
      if (fence) checkFence(fence, state.get(fence.key)?.value)
      const current = state.get(key)
      if (!current || (expect !== undefined && current.revision !== expect)) return { ok: false, current }
      const revision = state.revision + 1
      state.apply([{ key, revision, lastValue }])
      return { ok: true, revision }
    },
    watch: (options) => state.watch(options),
    compact: async (below) => state.compact(below),
    close: async () => state.close(),
  }
}
