import type { Clock } from '../../../../shared/clock/clock.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import { spliceHead } from '../../../registry/stored-object.ts'
import type { WatchRecord } from '../../../watchcache/watch-record.ts'
import type { WatchEncoder } from '../../../watchcache/watch-sink.ts'
import { headOf } from '../../encode/object-encoder.ts'

/** Returns one change as a line of the record. */
export function changeLine(
  head: string,
  { type, object, revision }: Exclude<WatchRecord, { type: 'BOOKMARK' }>,
  at: string,
): string {
  return `{"type":"${type}","at":"${at}","object":${spliceHead(head, object, revision)}}\n`
}

/**
 * Encodes changes as lines of a record (shared/record/format.ts). All listeners share the bytes. Writes are answered
 * without waiting until the listeners have them.
 */
export function recordEncoder(definition: ResourceDefinition, clock: Clock): WatchEncoder<Buffer> {
  const head = headOf(definition)
  return {
    id: `record ${definition.version}`,
    isLocal: true,
    encode(records) {
      const at = new Date(clock.now()).toISOString()
      let text = ''
      for (const record of records) if (record.type !== 'BOOKMARK') text += changeLine(head, record, at)
      return Buffer.from(text)
    },
  }
}
