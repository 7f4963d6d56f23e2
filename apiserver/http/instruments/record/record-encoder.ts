import type { Clock } from '../../../../shared/clock/clock.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import { spliceHead } from '../../../registry/stored-object.ts'
import type { WatchEncoder } from '../../../watchcache/watch-sink.ts'
import { headOf } from '../../encode/object-encoder.ts'

/**
 * Changes as lines of a record (shared/record/format.ts). All listeners share the bytes. No answer to a write waits
 * until they have them.
 */
export function recordEncoder(definition: ResourceDefinition, clock: Clock): WatchEncoder<Buffer> {
  const head = headOf(definition)
  return {
    id: `record ${definition.version}`,
    isLocal: true,
    encode(records) {
      const at = new Date(clock.now()).toISOString()
      let text = ''
      for (const record of records) {
        if (record.type === 'BOOKMARK') continue
        const object = spliceHead(head, record.object, record.revision)
        text += `{"type":"${record.type}","at":"${at}","object":${object}}\n`
      }
      return Buffer.from(text)
    },
  }
}
