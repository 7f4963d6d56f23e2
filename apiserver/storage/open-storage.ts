import { type OptionType, option } from '../../shared/config/option.ts'
import { createMemoryStorage } from './memory.ts'
import type { Storage } from './storage.ts'

/** Which engine keeps the objects. */
export type StorageChoice = { engine: 'memory' } | { engine: 'sqlite'; file: string }

const choice: OptionType<StorageChoice> = {
  placeholder: 'memory|sqlite:PATH',
  schema: { type: 'string', pattern: '^(memory|sqlite:.+)$' },
  fromText: parseStorage,
  fromFile: parseStorage,
  show: (value) => (value.engine === 'memory' ? 'memory' : `sqlite:${value.file}`),
}

export const storageOption = option(choice, {
  default: { engine: 'memory' },
  help: 'Where objects are kept: in memory, or in a file that outlives us',
})

/** `memory` or `sqlite:PATH`. */
export function parseStorage(value: unknown): StorageChoice {
  if (value === 'memory') return { engine: 'memory' }
  const file = typeof value === 'string' ? /^sqlite:(.+)$/.exec(value)?.[1] : undefined
  if (file !== undefined) return { engine: 'sqlite', file }
  throw new Error(`must be memory or sqlite:PATH, not ${JSON.stringify(value)}`)
}

/**
 * Rejects with a ConfigError, one sentence, when the file cannot be used. `onRoom`: told when its disk is full, and
 * when there is room again.
 */
export async function openStorage(choice: StorageChoice, onRoom?: (isFull: boolean) => void): Promise<Storage> {
  if (choice.engine === 'memory') return createMemoryStorage()
  const { openSqliteStorage } = await import('./sqlite/sqlite.ts')
  return openSqliteStorage({ ...choice, onRoom })
}

/** Before a start: on a full disk, the room that was reserved is for it. */
export async function makeRoom(choice: StorageChoice): Promise<void> {
  if (choice.engine === 'memory') return
  const { releaseWhereFull } = await import('./sqlite/reserve.ts')
  releaseWhereFull(choice.file)
}
