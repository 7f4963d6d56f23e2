import { parseStored } from '../../shared/api/json/exact-json.ts'
import type { FieldsV1 } from '../patch/structured-merge/fields.ts'
import { beforeSpec, isShared, joined } from '../storage/packed-text.ts'
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
/** Specs by their part; null for a part that was met once, or that is no spec. */
const specs = new Map<string, object | null>()
const maxSpecs = 64

/**
 * Decodes the JSON of a stored object. Sets of fields are half of most objects. Each shared part that holds one is
 * decoded once: its set is frozen, and all objects with this part have the same set. With `sharesSpec` the same holds
 * for the spec.
 */
export function decodeParts(parts: readonly string[], sharesSpec = false): Record<string, unknown> {
  const sets: ManagedSet[] = []
  let spec: object | undefined
  let text = ''
  for (const part of parts) {
    if (part.startsWith(beginning)) {
      const set = isShared(part) ? setOf(part) : undefined
      text += set ? `${beginning}${sets.push(set) - 1}${set.rest}` : part
    } else {
      const found = sharesSpec && !spec && part.startsWith(beforeSpec) && isShared(part) ? specOf(part) : undefined
      spec ??= found
      text += found ? `${beforeSpec}0` : part
    }
  }
  const object = parseStored(text) as StoredForm
  const isWhole =
    (sets.length === 0 || putBack(object.metadata.managedFields, sets)) && (spec === undefined || object.spec === 0)
  if (!isWhole) return parseStored(joined(parts)) as StoredForm
  if (spec) object.spec = spec
  return object
}

/** Returns the frozen spec of a part that has come before; undefined for another part. */
function specOf(part: string): object | undefined {
  const before = specs.get(part)
  if (before !== undefined) {
    if (before) return before
    const spec = parsedSpec(part)
    if (spec) specs.set(part, spec)
    return spec
  }
  if (specs.size >= maxSpecs) specs.delete(specs.keys().next().value!)
  specs.set(part, null)
  return undefined
}

function parsedSpec(part: string): object | undefined {
  try {
    return frozenOf<object>(part.slice(beforeSpec.length))
  } catch {
    return undefined
  }
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
