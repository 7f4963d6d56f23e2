/**
 * Go's protobuf has no omitempty: it writes each empty field that is no pointer. Such a body has to become the same object as the JSON
 * body that leaves these fields out, at any depth of any kind.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { decodeProtobuf } from '../../../apiserver/protobuf/decode.ts'
import { encodeProtobuf } from '../../../apiserver/protobuf/encode.ts'
import { messageOfKind } from '../../../apiserver/protobuf/messages.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import { additions } from '../../../openapi/additions.ts'
import { type Field, type StructType, structType, type ValueType } from '../../../openapi/types.ts'
import { startTestApiServer } from '../../harness/api-server.ts'

const jsonSchema = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps'
/** A schema within a schema within a schema; longer than the longest way from a kind to a leaf. */
const maxNesting = 3

/** An object of upstream's fields in which all that can be nested is there, and the rest empty: as protobuf has it, or as JSON. */
class Hollow {
  readonly #writesEmpty: boolean
  readonly #open: string[] = []
  constructor(form: 'protobuf' | 'json') {
    this.#writesEmpty = form === 'protobuf'
  }

  struct(struct: StructType): Record<string, unknown> {
    this.#open.push(struct.name)
    const ours = additions.find(({ type }) => type === struct.name)?.fields ?? {}
    const known = struct.fields.filter(({ name }) => !Object.hasOwn(ours, name))
    const fields = known.flatMap((field): [string, unknown][] => {
      const value = this.#field(field)
      return value === undefined ? [] : [[field.name, value]]
    })
    this.#open.pop()
    return Object.fromEntries(fields)
  }

  #field({ type }: Field): unknown {
    if (type.kind === 'list' || type.kind === 'map') {
      const item = this.#nested(type.item!)
      if (item === undefined) return undefined
      return type.kind === 'list' ? [item] : { key: item }
    }
    return this.#nested(type) ?? (this.#writesEmpty ? emptyOf(type) : undefined)
  }

  #nested({ kind, ref }: ValueType): Record<string, unknown> | undefined {
    const name = kind.startsWith('schemaOr') ? jsonSchema : kind === 'object' ? ref! : undefined
    if (name === undefined || this.#open.filter((open) => open === name).length >= maxNesting) return undefined
    return this.struct(structType(name))
  }
}

function emptyOf({ kind, pointer }: ValueType): unknown {
  if (pointer) return undefined
  if (kind === 'string') return ''
  if (kind === 'bool') return false
  return kind === 'int32' || kind === 'int64' || kind === 'double' ? 0 : undefined
}

const read = (schema: string, body: unknown) => JSON.parse(JSON.stringify(decodeObject({ schema }, body).object))

t.test('empty fields of a protobuf body are absent, in every kind', async (t) => {
  const known = resources.filter(({ group, version, kind }) =>
    messageOfKind(`${group ? `${group}/` : ''}${version}`, kind),
  )
  t.ok(known.length > 60, `${known.length} kinds`)
  for (const { group, version, kind, schema } of known) {
    const type = { apiVersion: `${group ? `${group}/` : ''}${version}`, kind }
    const sent = encodeProtobuf({ ...new Hollow('protobuf').struct(structType(schema)), ...type })!
    const expected = { ...new Hollow('json').struct(structType(schema)), ...type }
    t.strictSame(read(schema, decodeProtobuf(sent)), read(schema, expected), `${type.apiVersion} ${kind}`)
  }
})

t.test('a CustomResourceDefinition of a Go client is the one that it would have sent as JSON', async (t) => {
  const { json, protobuf } = JSON.parse(
    readFileSync(new URL('custom-resource-definition.json', import.meta.url), 'utf8'),
  ) as { json: { metadata: { name: string }; spec: object }; protobuf: string }
  const server = await startTestApiServer(t)
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const body = Buffer.from(protobuf, 'base64')
  const { resourceVersion: _resourceVersion, ...sent } = decodeProtobuf(body).metadata as Record<string, unknown>
  t.match(sent, { name: json.metadata.name })
  const made = await server.send(`${path}?dryRun=All`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    body,
  })
  t.equal(made.status, 201)
  t.strictSame((made.body as typeof json).spec, json.spec)
})

t.test('what a schema has below items and additionalProperties is read as above them', async (t) => {
  const server = await startTestApiServer(t)
  const send = (ships: object) =>
    server.send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict', {
      method: 'POST',
      body: definition(ships),
    })
  const shown = async (ships: object) => {
    const { body } = await send(ships)
    const { message, spec } = body as { message?: string; spec?: ReturnType<typeof definition>['spec'] }
    return message ?? spec?.versions[0]?.schema.openAPIV3Schema.properties.ships
  }
  const at = 'json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema'
  const unhandled = 'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition'
  const empty = { type: 'string', format: '', nullable: false, nonsense: 1 }
  t.strictSame(await shown({ type: 'array', items: empty }), { type: 'array', items: { type: 'string' } })
  t.strictSame(await shown({ type: 'object', additionalProperties: empty }), {
    type: 'object',
    additionalProperties: { type: 'string' },
  })
  const wrong = { type: 'string', minLength: 'x' }
  t.equal(await shown({ type: 'array', items: wrong }), `${unhandled}: ${at}.properties.items.minLength of type int64`)
  for (const [items, end] of [
    ['x', 'items: Required value: must be specified'],
    [[], 'items: Required value: must be specified'],
    [null, 'items: Required value: must be specified'],
  ] as const) {
    t.match(await shown({ type: 'array', items }), new RegExp(`${end}$`))
  }
  t.equal(await shown({ type: 'object', additionalProperties: 'x' }), `${unhandled}: boolean or JSON schema expected`)
})

const definition = (ships: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'fleets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'fleets', kind: 'Fleet' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { ships } } },
      },
    ],
  },
})
