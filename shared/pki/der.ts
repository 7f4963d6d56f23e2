/** The few DER forms (X.690) that a certificate is made of. Each function returns one complete element. */

const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
}

function element(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  if (length < 0x100) return Buffer.from([0x81, length])
  return Buffer.from([0x82, length >> 8, length & 0xff])
}

export const sequence = (...parts: Uint8Array[]): Buffer => element(tags.sequence, Buffer.concat(parts))
export const set = (...parts: Uint8Array[]): Buffer => element(tags.set, Buffer.concat(parts))
export const octetString = (content: Uint8Array): Buffer => element(tags.octetString, content)
export const utf8String = (text: string): Buffer => element(tags.utf8String, Buffer.from(text))
export const trueValue = Buffer.from([0x01, 0x01, 0xff])
/** `[number]` around complete elements (EXPLICIT, or IMPLICIT of a constructed one). */
export const tagged = (number: number, ...parts: Uint8Array[]): Buffer => element(0xa0 | number, Buffer.concat(parts))
/** `[number]` in place of a primitive's own tag (IMPLICIT). */
export const taggedPrimitive = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content)

/** A non-negative integer, its bytes big-endian; leading zeros, which DER forbids, may be there. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? Buffer.from([0]) : bytes.subarray(first)
  return element(tags.integer, digits[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits)
}

export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return element(tags.bitString, Buffer.concat([Buffer.from([unusedBits]), content]))
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(tags.objectIdentifier, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const digits = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

/** Encodes a time such as `2026-11-21T12:00:00Z`. Years from 2050 on take the long form (RFC 5280). */
export function time(rfc3339: string): Buffer {
  const digits = `${rfc3339.slice(0, 19).replace(/\D/g, '')}Z`
  if (digits < '2050') return element(tags.utcTime, Buffer.from(digits.slice(2)))
  return element(tags.generalizedTime, Buffer.from(digits))
}
