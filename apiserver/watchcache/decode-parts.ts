import { parseStored } from '../../shared/api/json/exact-json.ts'
import type { FieldsV1 } from '../patch/structured-merge/fields.ts'
import { beforeFields, beforeSpec, isShared, joined } from '../storage/packed-text.ts'
import { frozenOf } from '../values/recurring.ts'

type StoredForm = Record<string, unknown> & { metadata: { managedFields?: { fieldsV1?: unknown }[] } }

/** Values by their part; null for a part that was met once, or that is no whole value. */
type Values = Map<string, object | null>
const sets: Values = new Map()
const maxSets = 512
const specs: Values = new Map()
const maxSpecs = 256

/**
 * Decodes the JSON of a stored object. Sets of fields are half of most objects. Each shared part that is one is decoded
 * once: its set is frozen, and all objects with this part have the same set. With `sharesSpec` the same holds for the
 * spec.
 */
export function decodeParts(parts: readonly string[], sharesSpec = false): Record<string, unknown> {
  const fields: FieldsV1[] = []
  let spec: object | undefined
  let [text = ''] = parts
  for (let index = 1; index < parts.length; index++) {
    const part = parts[index]!
    const before = parts[index - 1]!
    if (before.endsWith(beforeFields) && isShared(part)) {
      const found = frozenPart(part, sets, maxSets)
      text += found ? fields.push(found as FieldsV1) - 1 : part
    } else if (sharesSpec && !spec && before.endsWith(beforeSpec) && isShared(part)) {
      spec = frozenPart(part, specs, maxSpecs)
      text += spec ? '0' : part
    } else text += part
  }
  const object = parseStored(text) as StoredForm
  const isWhole =
    (fields.length === 0 || putBack(object.metadata.managedFields, fields)) && (spec === undefined || object.spec === 0)
  if (!isWhole) return parseStored(joined(parts)) as StoredForm
  if (spec) object.spec = spec
  return object
}

/** Returns the frozen value of a part that has come before; undefined for another part. */
function frozenPart(part: string, values: Values, max: number): object | undefined {
  const known = values.get(part)
  if (known) return known
  if (known === undefined) {
    if (values.size >= max) values.delete(values.keys().next().value!)
    values.set(part, null)
    return undefined
  }
  const value = parsed(part)
  if (value) values.set(part, value)
  return value
}

function parsed(part: string): object | undefined {
  try {
    return frozenOf<object>(part)
  } catch {
    return undefined
  }
}

/** Returns false when a set stood elsewhere than in the object's own managedFields. */
function putBack(entries: { fieldsV1?: unknown }[] | undefined, fields: readonly FieldsV1[]): boolean {
  let missing = fields.length
  for (const entry of entries ?? []) {
    if (typeof entry.fieldsV1 !== 'number') continue
    entry.fieldsV1 = fields[entry.fieldsV1]
    missing--
  }
  return missing === 0
}
