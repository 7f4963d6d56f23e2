/**
 * Makes `data/` from `input/` and our additions:
 *   types.json         what the decoder needs of each type: fields in Go's order, shapes, omitempty
 *   schemas.json       component schemas with patch and list markers, for the OpenAPI documents
 *   descriptions.json  per type and field
 *   protobuf.json      field numbers and JSON forms of messages
 *   options.json       query parameters by options type, e.g. ListOptions, with what we add to DeleteOptions
 *   group-versions.json  the group versions that a real server knows, served or not
 *   discovery.json     short names, categories, verbs and subresources of every built-in resource
 * `node openapi/generate.ts` writes; `openapi/check.ts` compares.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Addition } from './addition.ts'
import { additions, replacements } from './additions.ts'
import { type ProtobufFacts, protobufTable } from './protobuf-table.ts'

/** [JSON name or '' when embedded, Go name, shape, Go type, omit] */
type GoField = [json: string, go: string, shape: string, type: string, omit: string]
/** [JSON name, path in decoder errors, shape, Go type, omit or 'a' where upstream's type lacks the field, Go name] */
type TypeField = [json: string, path: string, shape: string, goType: string, omit: string, go: string]
interface Schema {
  type?: string
  description?: string
  default?: unknown
  properties?: Record<string, Schema>
  allOf?: { $ref: string }[]
  $ref?: string
  items?: Schema
  [key: string]: unknown
}

const read = <T>(name: string): T => JSON.parse(readFileSync(new URL(`input/${name}`, import.meta.url), 'utf8')) as T
const schemaRef = (type: string) => `#/components/schemas/${type}`

/** Shape of a field that only the schema knows. */
function shapeOf(schema: Schema): string {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref
  if (ref) return `*@${ref.split('/').at(-1)}`
  if (schema.type === 'array') return `[]${shapeOf(schema.items ?? {})}`.replace('*@', '@')
  if (schema.type === 'object') return '{}raw'
  if (schema.type === 'integer') return schema.format === 'int64' ? '*int64' : '*int32'
  if (schema.type === 'boolean') return '*bool'
  return schema.type === 'string' ? 'string' : 'raw'
}

function flatten(name: string, goTypes: Record<string, GoField[]>, prefix = ''): TypeField[] {
  return (goTypes[name] ?? []).flatMap(([json, go, shape, goType, omit]): TypeField[] =>
    json === ''
      ? flatten(shape.split('@')[1] ?? '', goTypes, `${prefix}${go}.`)
      : [[json, prefix + json, shape, goType, omit, go]],
  )
}

/** Returns what the `shape` of an added field means in OpenAPI. */
function schemaOf(shape: string): Schema {
  if (shape.startsWith('*')) return schemaOf(shape.slice(1))
  if (shape.startsWith('{}')) return { type: 'object', additionalProperties: schemaOf(shape.slice(2)) }
  if (shape.startsWith('[]')) {
    const items = schemaOf(shape.slice(2))
    return { type: 'array', items: { default: items.allOf ? {} : '', ...items }, 'x-kubernetes-list-type': 'atomic' }
  }
  if (shape.startsWith('@')) return { allOf: [{ $ref: schemaRef(shape.slice(1)) }] }
  if (shape === 'Quantity') return { $ref: schemaRef('io.k8s.apimachinery.pkg.api.resource.Quantity') }
  if (shape === 'Time' || shape === 'MicroTime') return schemaOf(`@io.k8s.apimachinery.pkg.apis.meta.v1.${shape}`)
  if (shape === 'int32' || shape === 'int64') return { type: 'integer', format: shape }
  return { type: shape }
}

export interface Generated {
  'types.json': string
  'schemas.json': string
  'descriptions.json': string
  'protobuf.json': string
  'discovery.json': string
  'options.json': string
  'group-versions.json': string
}

export function generate(): Generated {
  const schemas = read<Record<string, Schema>>('schemas.json')
  const goTypes = read<Record<string, GoField[]>>('go-types.json')
  const extensions = read<Record<string, Record<string, Record<string, unknown>>>>('extensions.json')
  const descriptions = read<Record<string, Record<string, string>>>('descriptions.json')

  for (const [type, fields] of Object.entries(extensions)) {
    for (const [field, markers] of Object.entries(fields))
      Object.assign(schemas[type]?.properties?.[field] ?? {}, markers)
  }

  for (const addition of additions) {
    const base = addition.extends
    const isOfUpstream = base !== undefined || schemas[addition.type] !== undefined
    if (!schemas[addition.type]) {
      schemas[addition.type] = { type: 'object', properties: { ...(base ? schemas[base]?.properties : {}) } }
      goTypes[addition.type] = [...(base ? (goTypes[base] ?? []) : [])]
      descriptions[addition.type] = { ...(base ? descriptions[base] : {}), '': addition.description ?? '' }
    }
    if (addition.kind) schemas[addition.type]!['x-kubernetes-group-version-kind'] = [addition.kind]
    for (const [name, field] of Object.entries(addition.fields)) {
      schemas[addition.type]!.properties![name] = schemaOf(field.shape)
      goTypes[addition.type]!.push([name, field.go, field.shape, field.goType, isOfUpstream ? 'a' : 'o'])
      descriptions[addition.type] ??= {}
      descriptions[addition.type]![name] = field.description
    }
  }
  for (const [type, field, by] of replacements) {
    schemas[type]!.properties![field]!.allOf = [{ $ref: schemaRef(by) }]
    const goField = goTypes[type]!.find(([json]) => json === field)!
    goField[2] = `*@${by}`
  }

  const types: Record<string, TypeField[]> = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const { properties = goTypes[name] && {} } = schema
    if (schema.type !== 'object' || !properties) continue
    const known = flatten(name, goTypes).filter(([json]) => properties[json])
    const names = new Set(known.map(([json]) => json))
    const others = Object.entries(properties).filter(([json]) => !names.has(json))
    types[name] = [
      ...known,
      ...others.map(([json, property]): TypeField => [json, json, shapeOf(property), shapeOf(property), 'o', json]),
    ]
  }
  return {
    'types.json': perLine(types),
    'schemas.json': perLine(schemas),
    'descriptions.json': perLine(descriptions),
    'protobuf.json': protobufText(),
    'discovery.json': perLine(read('discovery.json')),
    'options.json': perLine(optionsOf(additions)),
    'group-versions.json': `${JSON.stringify(read('group-versions.json'))}\n`,
  }
}

/** Fields that an addition gives to an options type are query parameters too. */
function optionsOf(
  added: readonly Addition[],
): Record<string, Record<string, { type?: string; description?: string }>> {
  const options = read<ReturnType<typeof optionsOf>>('options.json')
  for (const { type, fields } of added) {
    const known = options[type.split('.').at(-1) ?? '']
    for (const [name, { shape, description }] of Object.entries(known ? fields : {})) {
      Object.assign(known!, { [name]: { type: schemaOf(shape).type, description } })
    }
  }
  return options
}

function protobufText(): string {
  const { roots, types } = protobufTable(read<ProtobufFacts>('protobuf.json'))
  return perLine({ ...types, '': roots })
}

/** Prints one entry a line, sorted, so that diffs stay readable. */
const perLine = (value: object): string =>
  `{\n${Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`)
    .join(',\n')}\n}\n`

if (import.meta.main) {
  const directory = new URL('data/', import.meta.url)
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(generate())) writeFileSync(new URL(name, directory), text)
}
