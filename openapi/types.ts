/** The generated type table: what the decoder, defaulting of empty objects and dumps need to know of each API type. */
import { LineTable } from './line-table.ts'

export type FieldKind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes'
  | 'Time'
  | 'MicroTime'
  | 'Quantity'
  | 'IntOrString'
  | 'raw'
  | 'schemaOrArray'
  | 'schemaOrBool'
  | 'schemaOrStrings'
  | 'object'
  | 'list'
  | 'map'

/** Describes the type of a value: of a field, a list's element or a map's value. */
export interface ValueType {
  kind: FieldKind
  /** Upstream holds a pointer: empty is a value of its own, absent is null. */
  pointer: boolean
  /** As Go's errors print it, e.g. `int32`, `v1.ObjectMeta`, `[]v1.Container`. */
  goType: string
  /** Holds the OpenAPI name, for `object`. */
  ref?: string
  /** Holds the type of the elements, for `list` and `map`. */
  item?: ValueType
}
export interface Field {
  name: string
  /** Name in Go, as dumps of whole structs print it. */
  goName: string
  /** Name in the decoder's errors: with the names of embedded structs before it. */
  path: string
  type: ValueType
  /** Upstream leaves the field out when empty, as far as Go's encoder knows empty structs. */
  omitEmpty: boolean
  /** An empty value and an absent one are the same to upstream: neither is written. */
  dropEmpty: boolean
  /** Upstream writes the field even when it was not given. */
  always: boolean
  /** Upstream's type does not have the field: `additions.ts` gives it. */
  added: boolean
}
export interface StructType {
  /** Holds the OpenAPI name. */
  name: string
  /** Name of the Go struct. */
  goName: string
  fields: Field[]
  byName: Map<string, Field>
  /** Fields that upstream always writes, even when they were not given. */
  always: Field[]
}

type Row = [json: string, path: string, shape: string, goType: string, omit: '' | 'o' | 'z' | 'a', go: string]

const rows = new LineTable<Row[]>('types.json')
const structs = new Map<string, StructType>()
const kinds: Record<string, FieldKind> = {
  int: 'int64',
  uint32: 'int64',
  uint64: 'int64',
  float64: 'double',
}
const structKinds = new Set<FieldKind>([
  'object',
  'Time',
  'MicroTime',
  'Quantity',
  'IntOrString',
  'raw',
  'schemaOrArray',
  'schemaOrBool',
  'schemaOrStrings',
])

/** Returns the Go type of a list's items. Lists that have a name, such as v1.ValidationRules, do not tell it. */
const goItem = (shape: string, goType: string): string =>
  goType.startsWith('[]') ? goType.slice(2) : (/[^.@\]]+(\.[^.]+)?$/.exec(shape)?.[0] ?? goType)

function valueType(shape: string, goType: string): ValueType {
  if (shape.startsWith('*')) return { ...valueType(shape.slice(1), goType), pointer: true }
  if (shape.startsWith('[]')) {
    return { kind: 'list', pointer: false, goType, item: valueType(shape.slice(2), goItem(shape, goType)) }
  }
  if (shape.startsWith('{}')) {
    return {
      kind: 'map',
      pointer: false,
      goType,
      item: valueType(shape.slice(2), goType.replace(/^map\[[^\]]*\]/, '')),
    }
  }
  if (shape.startsWith('@')) return { kind: 'object', pointer: false, goType, ref: shape.slice(1) }
  return { kind: kinds[shape] ?? (shape as FieldKind), pointer: false, goType }
}

/** Types of this project that stand for one of Kubernetes', whose name errors tell. */
const stoodFor = new Map([['io.k8s.api.core.v1.PreStopHandler', 'io.k8s.api.core.v1.LifecycleHandler']])

function compile(name: string, table: Row[]): StructType {
  const fields = table.map(([json, path, shape, goType, omit, go]): Field => {
    const type = valueType(shape, goType)
    const isStruct = structKinds.has(type.kind)
    return {
      name: json,
      goName: go,
      path,
      type,
      omitEmpty: omit !== '',
      dropEmpty: omit !== '' && !type.pointer && !isStruct,
      always: omit === '' ? true : omit === 'o' && !type.pointer && isStruct,
      added: omit === 'a',
    }
  })
  return {
    name,
    goName: (stoodFor.get(name) ?? name).split('.').at(-1) ?? name,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    always: fields.filter((field) => field.always),
  }
}

/**
 * Returns a type by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`. Throws an Error if the generated table does not
 * have it.
 */
export function structType(name: string): StructType {
  let struct = structs.get(name)
  if (!struct) {
    const table = rows.get(name)
    if (!table) throw new Error(`no type ${name} in the generated table`)
    struct = compile(name, table)
    structs.set(name, struct)
  }
  return struct
}

export const hasStructType = (name: string): boolean => rows.has(name)

/** Returns the value that upstream writes for a value that was never set. */
export function zeroValue(type: ValueType): unknown {
  if (type.pointer) return null
  switch (type.kind) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
    case 'IntOrString':
      return 0
    case 'Quantity':
      return '0'
    case 'object':
      return zeroObject(structType(type.ref ?? ''))
    case 'bytes':
    case 'Time':
    case 'MicroTime':
    case 'raw':
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStrings':
    case 'list':
    case 'map':
      return null
    default:
      return type.kind satisfies never
  }
}

/** An object of the type with nothing set: `{"containers":null}` for a pod's spec. */
export const zeroObject = (struct: StructType): Record<string, unknown> =>
  Object.fromEntries(struct.always.map((field) => [field.name, zeroValue(field.type)]))
