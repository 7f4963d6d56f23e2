import { toJson } from '../../shared/api/json/exact-json.ts'
import { type FieldsV1, sorted } from './structured-merge/fields.ts'

/** A set of fields with its JSON, made once for all objects of a shape. */
export interface EncodedFields {
  fields: FieldsV1
  text: string
}

const recent: { root: FieldsV1; encoded: EncodedFields }[] = []
const maxRecent = 16

/** Encodes a root that objects share. Other roots are cheaper to encode with their objects. */
export function encodedFields(root: FieldsV1): EncodedFields {
  for (const entry of recent) if (entry.root === root) return entry.encoded
  const fields = sorted(root)
  const encoded = { fields, text: toJson(fields) }
  if (recent.length === maxRecent) recent.pop()
  recent.unshift({ root, encoded })
  return encoded
}
