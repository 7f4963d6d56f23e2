import type { Clock } from '../../shared/clock/clock.ts'
import type { CachedObject, WatchCache, WatchEncoder, WatchRecord } from '../watchcache/index.ts'

/** Returns what makes the JSON of a kind's objects, as clients see them at a revision. */
export type TextOf = (cache: WatchCache) => (object: CachedObject, revision: number) => string

export function changeLine(
  text: ReturnType<TextOf>,
  { type, object, revision }: Exclude<WatchRecord, { type: 'BOOKMARK' }>,
  at: string,
): string {
  return `{"type":"${type}","at":"${at}","object":${text(object, revision)}}\n`
}

/**
 * Encodes changes as lines of a record (shared/record/format.ts). All listeners share the bytes. Writes are answered
 * without waiting until the listeners have them.
 */
export function recordEncoder(cache: WatchCache, textOf: TextOf, clock: Clock): WatchEncoder<Buffer> {
  const shown = textOf(cache)
  return {
    id: `record ${cache.definition.version}`,
    isLocal: true,
    encode(records) {
      const at = new Date(clock.now()).toISOString()
      let text = ''
      for (const record of records) if (record.type !== 'BOOKMARK') text += changeLine(shown, record, at)
      return Buffer.from(text)
    },
  }
}
