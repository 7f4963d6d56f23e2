/** The older OpenAPI document in bytes, as client-go reads it: gnostic's openapi.v2.Document. */
import { parseAccept } from '../encode/negotiation.ts'

export const openapiV2ProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** Clients ask by these names, although no media type can have an `@`. They do not understand it in an answer. */
const askedAs = [openapiV2ProtobufType, 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf']

/** client-go's discovery, and kubectl to 1.28, take the document in no other form. */
export function takesOnlyProtobuf(accept: string | undefined): boolean {
  const types = parseAccept(accept ?? '').map(({ type }) => type)
  return types.length > 0 && types.every((type) => askedAs.includes(type))
}

/** Writes a value as a field, or as several where it repeats. */
type Field = (value: never) => Buffer
/** The fields of a message by the keys of the object that it is made of; `x-` stands for all keys that begin so. */
type Fields = Record<string, Field>

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}
const tag = (number: number, wire: number): Buffer => varint(number * 8 + wire)
const bytes = (number: number, content: Buffer): Buffer =>
  Buffer.concat([tag(number, 2), varint(content.length), content])

const text = (number: number) => (value: string) => bytes(number, Buffer.from(value))
const flag = (number: number) => (value: boolean) => Buffer.concat([tag(number, 0), varint(value ? 1 : 0)])
const integer = (number: number) => (value: number) => Buffer.concat([tag(number, 0), varint(value)])
const double = (number: number) => (value: number) => {
  const content = Buffer.alloc(8)
  content.writeDoubleLE(value)
  return Buffer.concat([tag(number, 1), content])
}
/** A value of any type is YAML, and so may be JSON. */
const any = (number: number) => (value: unknown) => bytes(number, text(2)(JSON.stringify(value)))
const each = (field: Field) => (values: readonly never[]) => Buffer.concat(values.map(field))
const message = (number: number, fields: () => Fields) => (value: object) => bytes(number, encode(fields(), value))
/** A map: each entry is a message of a name (1) and a value (2). */
const entries = (number: number, value: Field) => (map: object) =>
  Buffer.concat(
    Object.entries(map).map(([name, one]) => bytes(number, Buffer.concat([text(1)(name), value(one as never)]))),
  )
/** A message that holds one field and nothing else. */
const within = (number: number, inner: Field) => (value: never) => bytes(number, inner(value))

function encode(fields: Fields, value: object): Buffer {
  const parts = Object.entries(value).map(([key, one]) => {
    if (one === undefined) return nothing
    const field = fields[key] ?? (key.startsWith('x-') ? fields['x-'] : undefined)
    if (key.startsWith('x-') && field) return field([key, one] as never)
    return field ? field(one as never) : nothing
  })
  return Buffer.concat(parts)
}
const nothing = Buffer.alloc(0)
const extension =
  (number: number) =>
  ([name, value]: [string, unknown]) =>
    bytes(number, Buffer.concat([text(1)(name), any(2)(value)]))

const schema = (): Fields => ({
  $ref: text(1),
  format: text(2),
  title: text(3),
  description: text(4),
  default: any(5),
  multipleOf: double(6),
  maximum: double(7),
  exclusiveMaximum: flag(8),
  minimum: double(9),
  exclusiveMinimum: flag(10),
  maxLength: integer(11),
  minLength: integer(12),
  pattern: text(13),
  maxItems: integer(14),
  minItems: integer(15),
  uniqueItems: flag(16),
  maxProperties: integer(17),
  minProperties: integer(18),
  required: each(text(19)),
  enum: each(any(20)),
  additionalProperties: (value: boolean | object) =>
    bytes(21, typeof value === 'boolean' ? flag(2)(value) : message(1, schema)(value)),
  type: within(22, text(1)),
  items: within(23, message(1, schema)),
  allOf: each(message(24, schema)),
  properties: within(25, entries(1, message(2, schema))),
  example: any(30),
  'x-': extension(31),
})

const placed = (type: number, uniqueItems: number): Fields => ({
  required: flag(1),
  in: text(2),
  description: text(3),
  name: text(4),
  type: text(type),
  uniqueItems: flag(uniqueItems),
})
const place: Record<string, { branch: number; fields: Fields }> = {
  query: { branch: 3, fields: placed(6, 20) },
  path: { branch: 4, fields: placed(5, 19) },
}
const body = (): Fields => ({ name: text(2), in: text(3), required: flag(4), schema: message(5, schema) })
/** Parameter{BodyParameter{…}} or Parameter{NonBodyParameter{…}} */
function parameter(value: { in: string }): Buffer {
  if (value.in === 'body') return bytes(1, encode(body(), value))
  const { branch, fields } = place[value.in]!
  return bytes(2, bytes(branch, encode(fields, value)))
}
/** ParametersItem{Parameter} or ParametersItem{JsonReference} */
const parameterItem = (number: number) => (value: { in: string } | { $ref: string }) =>
  bytes(number, '$ref' in value ? bytes(2, text(1)(value.$ref)) : bytes(1, parameter(value)))

const response = (): Fields => ({ description: text(1), schema: within(2, message(1, schema)) })
const operation = (): Fields => ({
  tags: each(text(1)),
  description: text(3),
  operationId: text(5),
  produces: each(text(6)),
  consumes: each(text(7)),
  parameters: each(parameterItem(8)),
  responses: within(9, entries(1, within(2, message(1, response)))),
  schemes: each(text(10)),
  'x-': extension(13),
})
const methods = { get: 2, put: 3, post: 4, delete: 5, options: 6, head: 7, patch: 8 }
const pathItem = (): Fields => ({
  ...Object.fromEntries(Object.entries(methods).map(([method, number]) => [method, message(number, operation)])),
  parameters: each(parameterItem(9)),
})
const apiKey = (): Fields => ({ type: text(1), name: text(2), in: text(3), description: text(4) })
/** SecurityRequirement: a map of lists of strings. */
const requirement = entries(1, (scopes: readonly never[]) => bytes(2, each(text(1) as Field)(scopes)))

const document: Fields = {
  swagger: text(1),
  info: message(2, () => ({ title: text(1), version: text(2) })),
  paths: within(8, entries(2, message(2, pathItem))),
  definitions: within(9, entries(1, message(2, schema))),
  parameters: within(10, entries(1, within(2, parameter))),
  security: each((schemes: object) => bytes(12, requirement(schemes))),
  securityDefinitions: within(13, entries(1, within(2, message(2, apiKey)))),
}

/** Encodes the JSON of `GET /openapi/v2` in protobuf, for clients that accept nothing else. */
export const openapiV2Protobuf = (json: object): Buffer => encode(document, json)
