/**
 * Makes the table that decodes protobuf bodies: per message its fields by number, with the form each has in JSON.
 * All versions that Go clients know, served or not: a body of the wrong one is refused for what it is.
 */
interface ProtobufField {
  /** JSON name; '' when embedded. */
  n: string
  /** Number. */
  p: number
  /** Kind. */
  k: 'string' | 'bool' | 'int32' | 'int64' | 'uint' | 'double' | 'bytes' | 'message' | 'map'
  /** Message type. */
  t?: string
  /** Repeated. */
  r?: boolean
  /** Type of a map's values: a scalar kind or a message. */
  mv?: string
}
export interface ProtobufFacts {
  /** `apps/v1 Deployment` → message. */
  roots: Record<string, string>
  types: Record<string, ProtobufField[] | null>
}

/**
 * [number, JSON name or '' when embedded, form]: `string`, `@message`, `[]` repeated, `{}` map, `=` before what a
 * message with the single field `items` wraps.
 */
type Row = [number: number, name: string, form: string]
export interface ProtobufTable {
  roots: Record<string, string>
  types: Record<string, Row[]>
}

const crd = 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1'
/** Messages with a JSON form of their own. */
const ownForms: Record<string, string> = {
  'apis/meta/v1.Time': 'Time',
  'apis/meta/v1.MicroTime': 'MicroTime',
  'apis/meta/v1.FieldsV1': 'raw',
  'api/resource.Quantity': 'Quantity',
  'util/intstr.IntOrString': 'IntOrString',
  'runtime.RawExtension': 'raw',
  [`${crd}.JSON`]: 'raw',
  [`${crd}.JSONSchemaPropsOrArray`]: 'schemaOrArray',
  [`${crd}.JSONSchemaPropsOrBool`]: 'schemaOrBool',
  [`${crd}.JSONSchemaPropsOrStringArray`]: 'schemaOrStrings',
}
/** Real messages that happen to have one field called items. */
const notWrappers = new Set(['core/v1.DownwardAPIProjection'])
const scalars = new Set(['string', 'bool', 'int32', 'int64', 'uint', 'double', 'bytes'])

export function protobufTable(facts: ProtobufFacts): ProtobufTable {
  const table: ProtobufTable = { roots: {}, types: {} }
  for (const [kind, type] of Object.entries(facts.roots)) {
    table.roots[kind] = type
    addType(facts, table, type)
  }
  for (const type of [`${crd}.JSONSchemaProps`]) addType(facts, table, type)
  return table
}

function addType(facts: ProtobufFacts, table: ProtobufTable, name: string): void {
  if (table.types[name]) return
  const rows: Row[] = []
  table.types[name] = rows // messages contain themselves
  for (const field of facts.types[name] ?? []) rows.push([field.p, field.n, formOf(facts, table, field)])
}

function formOf(facts: ProtobufFacts, table: ProtobufTable, field: ProtobufField): string {
  const form =
    field.k === 'map' ? `{}${named(facts, table, field.mv ?? 'string')}` : named(facts, table, field.t ?? field.k)
  return field.r ? `[]${form}` : form
}

function named(facts: ProtobufFacts, table: ProtobufTable, type: string): string {
  if (scalars.has(type)) return type
  const own = ownForms[type]
  if (own) return own
  const [only, ...others] = facts.types[type] ?? []
  if (only?.n === 'items' && others.length === 0 && !notWrappers.has(type)) {
    const form = formOf(facts, table, only)
    return form === '[]string' ? `=${form}` : form // lists of strings are messages; other named maps and lists are none on the wire
  }
  addType(facts, table, type)
  return `@${type}`
}
