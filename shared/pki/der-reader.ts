/** Represents one element of DER (X.690), parsed only as far as asked. */
export interface Element {
  tag: number
  /** Holds the whole element, with tag and length. */
  whole: Buffer
  content: Buffer
}

/**
 * The elements that stand one after the other in `der`. Throws on anything that is not DER, or nests deeper than it
 * says.
 */
export function elements(der: Buffer): Element[] {
  const found: Element[] = []
  for (let at = 0; at < der.length; ) {
    const element = elementAt(der, at)
    found.push(element)
    at += element.whole.length
  }
  return found
}

/** Returns the only element in `der`. Throws an Error if there is none or more than one. */
export function element(der: Buffer): Element {
  const [only, ...more] = elements(der)
  if (!only || more.length > 0) throw new Error('not one DER element')
  return only
}

function elementAt(der: Buffer, at: number): Element {
  const tag = der[at]!
  if ((tag & 0x1f) === 0x1f) throw new Error('long DER tag')
  const first = der[at + 1]
  if (first === undefined) throw new Error('DER ends early')
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  if (lengthBytes > 4 || (first & 0x80 && lengthBytes === 0)) throw new Error('DER length out of range')
  if (at + 2 + lengthBytes > der.length) throw new Error('DER ends early')
  const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes)
  const start = at + 2 + lengthBytes
  if (start + length > der.length) throw new Error('DER ends early')
  return { tag, whole: der.subarray(at, start + length), content: der.subarray(start, start + length) }
}

/** `2.5.4.3` of an object identifier's content. */
export function dotted(content: Buffer): string {
  const numbers: number[] = []
  let value = 0
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f)
    if (byte & 0x80) continue
    numbers.push(value)
    value = 0
  }
  const [joint = 0, ...rest] = numbers
  const first = Math.min(2, Math.floor(joint / 40))
  return [first, joint - first * 40, ...rest].join('.')
}
