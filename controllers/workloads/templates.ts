import { toJson } from '../../shared/api/json/exact-json.ts'
import type { PodTemplateSpec } from '../../shared/api/types.ts'

export const HASH_LABEL = 'pod-template-hash'
/** No vowels, and nothing that reads as another: hashes are to be no words. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

const known = new WeakMap<PodTemplateSpec, string>()

/** Returns one text for all ways to write the same template, its hash label left out. */
function textOf(template: PodTemplateSpec): string {
  const text = known.get(template) ?? toJson(canonical({ ...template, metadata: metadataOf(template) }))
  known.set(template, text)
  return text
}

function metadataOf({ metadata = {} }: PodTemplateSpec): object {
  const { [HASH_LABEL]: _hash, ...labels } = metadata.labels ?? {}
  return { ...metadata, labels }
}

/** Keys in order, nothing that is empty: as Go writes it, for comparisons of bytes. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .map(([key, entry]) => [key, canonical(entry)] as const)
    .filter(([, entry]) => !isEmpty(entry))
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

/** Returns whether pods of both templates would be equal, apart from the hash in their labels. */
export const isSameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean => textOf(a) === textOf(b)

/**
 * A short name for the template; another where `collisions` says that it was taken. Not upstream's value: that is made
 * of Go's own dump.
 */
export function templateHash(template: PodTemplateSpec, collisions = 0): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`${textOf(template)}#${collisions}`))
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('')
}
