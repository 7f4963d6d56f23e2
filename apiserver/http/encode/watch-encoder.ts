import { parseStored, toJson } from '../../../shared/api/json/exact-json.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { encodeWatchEvent } from '../../protobuf/encode.ts'
import { decodeStored, type StoredObject, spliceHead } from '../../registry/stored-object.ts'
import { zeroOf } from '../../validation/decoder.ts'
import type { JsonMap } from '../../values/json-map.ts'
import type { WatchRecord } from '../../watchcache/watch-record.ts'
import type { WatchEncoder } from '../../watchcache/watch-sink.ts'
import type { Transform } from './negotiation.ts'
import { headOf } from './object-encoder.ts'
import { partialObjectMetadata } from './partial-object-metadata.ts'
import { type IncludeObject, tableOf } from './table.ts'

type Bookmark = Extract<WatchRecord, { type: 'BOOKMARK' }>
type Change = Exclude<WatchRecord, Bookmark>

/** Encodes events for a stream: one line of JSON each, many in one buffer. */
function linesOf(
  lineOf: { change(record: Change): string; bookmark(record: Bookmark): string },
  id?: string,
): WatchEncoder<Buffer> {
  return {
    id,
    encode(records) {
      let text = ''
      for (const record of records) {
        const object = record.type === 'BOOKMARK' ? lineOf.bookmark(record) : lineOf.change(record)
        text += `{"type":"${record.type}","object":${object}}\n`
      }
      return Buffer.from(text)
    },
  }
}

/** The last state of a deleted object bears the revision of its deletion. */
const stored = ({ object, revision }: Change): StoredObject => ({ value: object.value, revision })

export function objectEncoder(definition: ResourceDefinition): WatchEncoder<Buffer> {
  const head = headOf(definition)
  return linesOf(
    {
      change: ({ object, revision }) => spliceHead(head, object, revision),
      bookmark: (record) =>
        JSON.stringify({ ...JSON.parse(`${head.slice(0, -1)}}`), ...emptyObject(definition, record) }),
    },
    definition.version,
  )
}

/** Encodes the same events in protobuf, for a client that does not accept JSON. */
export const inProtobuf = ({ id, encode }: WatchEncoder<Buffer>): WatchEncoder<Buffer> => ({
  id: id && `protobuf ${id}`,
  encode: (records) =>
    Buffer.concat(
      String(encode(records))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => protobufEvent(parseStored(line) as Parameters<typeof protobufEvent>[0])),
    ),
})

/** Encodes one watch event. The caller has made sure that the kind has a protobuf form. */
export const protobufEvent = ({ type, object }: { type: string; object: JsonMap }): Buffer =>
  encodeWatchEvent(type, object)!

export function partialObjectEncoder(definition: ResourceDefinition, { version }: Transform): WatchEncoder<Buffer> {
  const encode = (object: Parameters<typeof partialObjectMetadata>[0]): string =>
    toJson(partialObjectMetadata(object, version, definition))
  return linesOf(
    {
      change: (record) => encode(decodeStored(stored(record))),
      bookmark: (record) => encode({ metadata: bookmarkMetadata(record) }),
    },
    `partial ${version}`,
  )
}

/** Columns come with the first event only, so no two watchers can share. */
export function tableEncoder(
  definition: ResourceDefinition,
  { version, include, now }: { version: Transform['version']; include: IncludeObject; now(): number },
): WatchEncoder<Buffer> {
  let withoutColumns = false
  const encode = (object: ReturnType<typeof decodeStored>, bookmark?: Bookmark): string => {
    const { resourceVersion } = object.metadata
    const table = tableOf(definition, [object], {
      version,
      // The annotation of this bookmark must reach clients that want no objects as well.
      include: include === 'None' && bookmark?.initialEventsEnd ? 'Metadata' : include,
      metadata: { resourceVersion },
      nowMs: now(),
      withoutColumns,
    })
    withoutColumns = true
    if (bookmark) for (const row of table.rows) row.cells = row.cells.map((cell) => cell ?? '')
    return toJson(table)
  }
  return linesOf({
    change: (record) => encode(decodeStored(stored(record))),
    bookmark: (record) => encode({ ...emptyObject(definition, record) }, record),
  })
}

/** Returns an object of the kind with a revision alone. */
function emptyObject(
  { group, schema, custom, subresources }: ResourceDefinition,
  record: Bookmark,
): ReturnType<typeof decodeStored> {
  const zero: Record<string, unknown> = custom ? {} : zeroOf(schema)
  // Inside a real server the replicas of these are a plain number, which is never absent.
  if (group === 'apps' && subresources?.scale) zero.spec = { replicas: 0, ...(zero.spec as object) }
  return { ...zero, metadata: bookmarkMetadata(record) }
}

function bookmarkMetadata({ revision, initialEventsEnd }: Bookmark) {
  return {
    resourceVersion: String(revision),
    ...(initialEventsEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  }
}
