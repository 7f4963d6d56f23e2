import { WireWriter } from '../../shared/protobuf/wire-writer.ts'
import type { JsonMap } from '../values/json-map.ts'
import { encodeMessage, envelopeEnd, envelopeHead } from './encode.ts'
import { messageOfKind } from './messages.ts'

/** The envelope with a list in it, of which the items are written one by one. */
export interface ListInParts {
  /** `bytes`: of all items. */
  begin(bytes: number): Buffer
  item(item: JsonMap): Buffer
  readonly end: Buffer
}

/** `list`: without items. Undefined for a kind that has no protobuf form. */
export function protobufList(list: JsonMap): ListInParts | undefined {
  const { apiVersion, kind, items: _, ...rest } = list as JsonMap & { apiVersion?: string; kind?: string }
  const name = messageOfKind(apiVersion ?? 'v1', kind ?? '')
  if (!name) return undefined
  // The metadata, which has a smaller number than the items.
  const before = encodeMessage(name, rest)
  return {
    begin: (bytes) => Buffer.concat([envelopeHead({ apiVersion, kind }), partHead(2, before.length + bytes), before]),
    item: (item) => encodeMessage(name, { items: [item] }),
    end: envelopeEnd,
  }
}

/** Returns the bytes that precede a part of this length; the part itself is written later. */
function partHead(number: number, bytes: number): Buffer {
  const writer = new WireWriter()
  writer.length(number, bytes)
  return writer.bytes()
}
