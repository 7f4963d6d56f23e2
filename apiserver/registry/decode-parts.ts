import { parseStored } from '../../shared/api/json/exact-json.ts'
import type { FieldsV1 } from '../patch/structured-merge/fields.ts'
import { isShared, joined } from '../storage/packed-text.ts'
import { frozenOf } from '../values/recurring.ts'

/** A part that holds one manager's set of fields begins and may end like this. */
const beginning = ',"fieldsType":"FieldsV1","fieldsV1":'
const ending = /(?:,"subresource":"[^"\\]*")?(?:\}\])?$/

interface ManagedSet {
  fields: FieldsV1
  /** The text after the set in its part. */
  rest: string
}

type StoredForm = Record<string, unknown> & { metadata: { managedFields?: { fieldsV1?: unknown }[] } }

const known = new Map<string, ManagedSet>()
const maxKnown = 512

/**
 * Decodes the JSON of a stored object. Sets of fields are half of most objects. Each shared part that holds one is
 * decoded once: its set is frozen, and all objects with this part have the same set.
 */
export function decodeParts(parts: readonly string[]): Record<string, unknown> {
  const sets: ManagedSet[] = []
  let text = ''
  for (const part of parts) {
    const set = part.startsWith(beginning) && isShared(part) ? setOf(part) : undefined
    text += set ? `${beginning}${sets.push(set) - 1}${set.rest}` : part
  }
  const object = parseStored(text) as StoredForm
  return sets.length === 0 || putBack(object.metadata.managedFields, sets)
    ? object
    : (parseStored(joined(parts)) as StoredForm)
}

/** Returns the set of a part; undefined for a part that only looks like one. */
function setOf(part: string): ManagedSet | undefined {
  const before = known.get(part)
  if (before) return before
  const [rest = ''] = ending.exec(part) ?? []
  const text = part.slice(beginning.length, part.length - rest.length)
  try {
    const set = { fields: frozenOf<FieldsV1>(text), rest }
    if (known.size >= maxKnown) known.delete(known.keys().next().value!)
    known.set(part, set)
    return set
  } catch {
    return undefined
  }
}

/** Returns false when a set stood elsewhere than in the object's own managedFields. */
function putBack(entries: { fieldsV1?: unknown }[] | undefined, sets: readonly ManagedSet[]): boolean {
  let missing = sets.length
  for (const entry of entries ?? []) {
    if (typeof entry.fieldsV1 !== 'number') continue
    entry.fieldsV1 = sets[entry.fieldsV1]!.fields
    missing--
  }
  return missing === 0
}
