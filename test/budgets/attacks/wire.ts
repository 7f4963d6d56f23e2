/** Bytes of protobuf that no client would write. */

export const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]

/** A field of a message: its number and its bytes. */
export const field = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])

export const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))])),
    field(2, raw),
  ])

/** As many empty messages as fit, all in one field. */
export const emptyMessages = (number: number, bytes: number): Buffer =>
  Buffer.alloc(bytes - (bytes % 2), Buffer.from([...varint(number * 8 + 2), 0]))

/** A pod with a name and this spec. */
export const podMessage = (spec: Buffer): Buffer =>
  envelope('v1', 'Pod', Buffer.concat([field(1, field(1, Buffer.from('x'))), field(2, spec)]))
