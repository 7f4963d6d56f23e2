import { copyOf } from '../../shared/memory/copy-of.ts'

/**
 * Where an object's JSON is cut, unless its writer gives the parts. The parts are often equal from object to object:
 * what a template made, and the fields that a manager owns of it. Any cut will do, since the text is whole again when
 * its parts are joined.
 */
const beforeManagers = ',"managedFields":['
/** Precedes the set of fields that a manager owns: what it owns follows, and then the next manager. */
export const beforeFields = '"fieldsV1":'
const [beforeSubresource, beforeManager, afterManagers] = [',"subresource":', '},{"manager":', '}]}']
/** Precedes the spec of an object. */
export const beforeSpec = '},"spec":'
const beforeStatus = ',"status":'
/** Precedes the version that a custom resource is stored in, which stays in the last part as a whole. */
const beforeVersion = ',"apiVersion":"'
/** Shorter parts cost as much as they save. */
const minShared = 200
const maxShared = 8 * 1024
/** Each generation of shared texts holds so many: both together four megabytes at most. */
const maxGeneration = 256

/**
 * Texts that others may have as well. The recent ones are those that were met since the generation before them was
 * full: a text that is met again stays, however many others came between.
 */
let recent = new Map<string, string>()
let former = new Map<string, string>()

/**
 * A PackedText shares equal parts with other texts: each part is in memory once, however many objects have it. Of a
 * pod, half the text is shared, or more.
 */
export class PackedText {
  readonly parts: readonly string[]

  /** `pieces`: what the text is joined from. Every second piece may be shared. */
  constructor(text: string, pieces?: readonly string[]) {
    this.parts = pieces ? packed(text, pieces) : pack(text)
  }

  toString(): string {
    return joined(this.parts)
  }
}

/** Returns `parts.join('')`, without the copy that join makes at once. */
export function joined(parts: readonly string[]): string {
  let text = parts[0] ?? ''
  for (let index = 1; index < parts.length; index++) text += parts[index]
  return text
}

/** Returns whether equal parts of other texts are this very string in memory. */
export const isShared = (part: string): boolean => recent.has(part) || former.has(part)

/** Returns the length of a value without joining its parts; 0 without an entry. */
export function lengthOf(entry: { readonly value: string; readonly parts?: readonly string[] } | undefined): number {
  if (!entry) return 0
  if (!entry.parts) return entry.value.length
  let length = 0
  for (const part of entry.parts) length += part.length
  return length
}

function pack(text: string): string[] {
  const cuts = text.length < 2 * minShared ? [] : boundaries(text)
  if (cuts.length === 0) return [text]
  const pieces = [...cuts, text.length].map((to, index) => text.slice(index === 0 ? 0 : cuts[index - 1], to))
  return packed(text, pieces)
}

/**
 * Joins neighbours that are not shared. What stays in memory is a copy: V8 keeps a text that was put together as a tree
 * of its pieces, which takes several times the memory.
 */
function packed(text: string, pieces: readonly string[]): string[] {
  const parts: string[] = []
  let own = ''
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index]!
    const part = index % 2 === 1 ? share(piece) : undefined
    if (part === undefined) {
      own += piece
      continue
    }
    if (own !== '') parts.push(copyOf(own))
    parts.push(part)
    own = ''
  }
  if (parts.length === 0) return [copyOf(text)]
  if (own !== '') parts.push(copyOf(own))
  return parts
}

/** Returns where parts begin that may be shared, and where they end. */
function boundaries(text: string): number[] {
  const found: number[] = []
  const spec = text.indexOf(beforeSpec)
  const metadata = spec === -1 ? text : text.slice(0, spec + afterManagers.length)
  for (let at = metadata.indexOf(beforeManagers); at !== -1; ) {
    const fields = metadata.indexOf(beforeFields, at)
    if (fields === -1) break
    const next = metadata.indexOf(beforeManager, fields)
    const end = next === -1 ? metadata.indexOf(afterManagers, fields) : next
    if (end === -1) break
    const subresource = metadata.lastIndexOf(beforeSubresource, end)
    found.push(fields + beforeFields.length, subresource > fields ? subresource : end)
    at = next
  }
  if (spec !== -1) {
    // It is short, and what precedes it long.
    const status = text.lastIndexOf(beforeStatus)
    const version = text.lastIndexOf(beforeVersion)
    const end = status > spec ? status : version > spec ? version : text.length - 1
    found.push(spec + beforeSpec.length, end)
  }
  return found
}

/**
 * Returns the remembered text that is equal; else this one is remembered, for those to come. Returns undefined for a
 * piece that is too short or too long.
 */
function share(piece: string): string | undefined {
  if (piece.length < minShared || piece.length > maxShared) return undefined
  const found = recent.get(piece)
  if (found !== undefined) return found
  const text = former.get(piece) ?? copyOf(piece)
  if (recent.size >= maxGeneration) {
    former = recent
    recent = new Map()
  }
  recent.set(text, text)
  return text
}
