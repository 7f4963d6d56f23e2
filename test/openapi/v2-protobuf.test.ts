/** `/openapi/v2` in bytes says what it says in JSON. Field numbers are those of gnostic's openapi.v2.Document. */
import t from 'tap'
import { openapiV2 } from '../../apiserver/http/openapi/v2.ts'
import { openapiV2Protobuf } from '../../apiserver/http/openapi/v2-protobuf.ts'
import { resources } from '../../apiserver/resources/index.ts'

type Value = Buffer | number

/** Fields of a message by number, in order. */
function fields(message: Buffer): Map<number, Value[]> {
  const found = new Map<number, Value[]>()
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++]!
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    let value: Value
    if (tag % 8 === 0) value = varint()
    else {
      const length = tag % 8 === 1 ? 8 : varint()
      value = message.subarray(at, at + length)
      at += length
    }
    const number = Math.floor(tag / 8)
    found.set(number, [...(found.get(number) ?? []), value])
  }
  return found
}
const all = (message: Value | undefined, number: number): Value[] => fields(message as Buffer).get(number) ?? []
const one = (message: Value | undefined, ...numbers: number[]): Value | undefined =>
  numbers.reduce((value, number) => (value === undefined ? undefined : all(value, number)[0]), message)
const text = (message: Value | undefined, ...numbers: number[]): string | undefined =>
  one(message, ...numbers)?.toString()
/** A map's entries: name (1) and value (2). */
const entries = (map: Value | undefined): Record<string, Value | undefined> =>
  Object.fromEntries(all(map, 1).map((entry) => [text(entry, 1) ?? '', one(entry, 2)]))

interface Parameter {
  name?: string
  in?: string
  $ref?: string
}
interface Swagger {
  paths: Record<string, { parameters?: Parameter[] } & Record<string, { parameters?: Parameter[]; tags: string[] }>>
  definitions: object
  parameters: Record<string, Parameter>
}

const json = openapiV2(resources) as Swagger
const bytes = openapiV2Protobuf(json)

/** Of a Parameter: the branches for body, and for header, form, query and path. */
function parameterOf(message: Value | undefined): Parameter {
  const body = one(message, 1)
  const [branch] = body ? [body] : [3, 4].map((number) => one(message, 2, number)).filter((found) => found)
  return { name: text(branch, body ? 2 : 4), in: text(branch, body ? 3 : 2) }
}
const itemOf = (item: Value): Parameter => {
  const $ref = text(item, 2, 1)
  return $ref ? { $ref } : parameterOf(one(item, 1))
}
const named = (parameters: Parameter[] = []): Parameter[] =>
  parameters.map(({ $ref, name, in: place }) => ($ref ? { $ref } : { name, in: place }))

t.test('all paths, methods and parameters', async (t) => {
  const numbers = { get: 2, put: 3, post: 4, delete: 5, options: 6, head: 7, patch: 8 }
  const paths = Object.fromEntries(all(one(bytes, 8), 2).map((entry) => [text(entry, 1) ?? '', one(entry, 2)]))
  t.same(Object.keys(paths), Object.keys(json.paths))
  const wrong: string[] = []
  for (const [path, { parameters, ...methods }] of Object.entries(json.paths)) {
    const check = (what: string, found: unknown, wanted: unknown): void => {
      if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push(`${path} ${what}: ${JSON.stringify(found)}`)
    }
    check('parameters', all(paths[path], 9).map(itemOf), named(parameters))
    for (const [method, number] of Object.entries(numbers)) {
      const operation = one(paths[path], number)
      check(method, operation !== undefined, method in methods)
      if (!operation) continue
      check(`${method} parameters`, all(operation, 8).map(itemOf), named(methods[method]?.parameters))
      check(`${method} tags`, all(operation, 1).map(String), methods[method]?.tags)
    }
  }
  t.same(wrong, [])
})

t.test('definitions, shared parameters and the way to log in', async (t) => {
  t.same(Object.keys(entries(one(bytes, 9))), Object.keys(json.definitions))
  const shared = Object.entries(entries(one(bytes, 10))).map(([name, value]) => [name, parameterOf(value)])
  t.same(
    Object.fromEntries(shared),
    Object.fromEntries(Object.entries(json.parameters).map(([name, one]) => [name, named([one])[0]])),
  )
  const namespace = Object.entries(entries(one(bytes, 10))).find(([name]) => name.startsWith('namespace-'))?.[1]
  t.equal(one(namespace, 2, 4, 19), 1, 'unique items of a path parameter')
  t.equal(text(bytes, 12, 1, 1), 'BearerToken')
  t.equal(text(entries(one(bytes, 13)).BearerToken, 2, 2), 'authorization')
})
