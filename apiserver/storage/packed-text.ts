/**
 * Where an object's JSON is cut. The parts are often equal from object to object: what a template made, and the fields
 * that a manager owns of it. Any cut will do, since the text is whole again when its parts are joined.
 */
const beforeManagers = ',"managedFields":['
/** Between the two stands when a manager wrote; what it owns follows, and then the next one. */
const [beforeFields, beforeManager] = [',"fieldsType":', '},{"manager":']
/** Precedes the spec of an object: the part that holds one begins with it. */
export const beforeSpec = '},"spec":'
const beforeStatus = ',"status":'
/** Shorter parts cost as much as they save. */
const minShared = 200
const maxShared = 8 * 1024
/** What is remembered to be shared: so many lengths, so many texts of each; four megabytes at most. */
const maxLengths = 128
const maxOfLength = 4

/**
 * Texts that others may have a part of, by their length: those that differ are told apart without reading them to the
 * end.
 */
const known = new Map<number, string[]>()

/**
 * A PackedText shares equal parts with other texts: each part is in memory once, however many objects have it. Of a
 * pod, half the text is shared, or more.
 */
export class PackedText {
  readonly parts: readonly string[]

  constructor(text: string) {
    this.parts = pack(text)
  }

  toString(): string {
    return joined(this.parts)
  }
}

/** Returns `parts.join('')`, without the copy that join makes at once. */
export function joined([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const part of others) text += part
  return text
}

/** Returns whether equal parts of other texts are this very string in memory. */
export const isShared = (part: string): boolean => known.get(part.length)?.includes(part) ?? false

/** Returns the length of a value without joining its parts; 0 without an entry. */
export function lengthOf(entry: { readonly value: string; readonly parts?: readonly string[] } | undefined): number {
  if (!entry) return 0
  if (!entry.parts) return entry.value.length
  let length = 0
  for (const part of entry.parts) length += part.length
  return length
}

function pack(text: string): string[] {
  if (text.length < 2 * minShared) return [text]
  const parts: string[] = []
  /** Where the text begins that is not shared and not yet in `parts`. */
  let ownFrom = 0
  let from = 0
  for (const to of boundaries(text)) {
    const shared = to - from < minShared || to - from > maxShared ? undefined : share(text, from, to)
    if (shared !== undefined) {
      if (ownFrom < from) parts.push(copyOf(text, ownFrom, from))
      parts.push(shared)
      ownFrom = to
    }
    from = to
  }
  if (parts.length === 0) return [text]
  if (ownFrom < text.length) parts.push(copyOf(text, ownFrom, text.length))
  return parts
}

function boundaries(text: string): number[] {
  const found: number[] = []
  const spec = text.indexOf(beforeSpec)
  const metadata = spec === -1 ? text : text.slice(0, spec)
  let at = 0
  const cutAt = (mark: string): boolean => {
    const next = metadata.indexOf(mark, at)
    if (next === -1) return false
    found.push(next)
    at = next + mark.length
    return true
  }
  if (cutAt(beforeManagers)) while (cutAt(beforeFields) && cutAt(beforeManager));
  if (spec !== -1) {
    // It is short, and what precedes it long.
    const status = text.lastIndexOf(beforeStatus)
    found.push(spec)
    if (status > spec) found.push(status)
  }
  found.push(text.length)
  return found
}

/** The remembered text that is equal; else this one is remembered, for those to come. */
function share(text: string, from: number, to: number): string {
  const part = text.slice(from, to)
  let texts = known.get(part.length)
  if (!texts) {
    if (known.size >= maxLengths) known.delete(known.keys().next().value!)
    texts = []
    known.set(part.length, texts)
  }
  const equal = texts.indexOf(part)
  if (equal !== -1) return texts[equal]!
  if (texts.length >= maxOfLength) texts.shift()
  const copy = copyOf(text, from, to)
  texts.push(copy)
  return copy
}

/** A text that does not hold the whole that it is a part of: a slice would. */
const copyOf = (text: string, from: number, to: number): string => ` ${text.slice(from, to)}`.slice(1)
