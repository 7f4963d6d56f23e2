import t from 'tap'
import { compileType } from '../../../apiserver/patch/structured-merge/built-in.ts'
import { beyondZero } from '../../../apiserver/patch/structured-merge/everything.ts'
import type { JsonMap } from '../../../apiserver/values/json-map.ts'
import type { OpenApiSchema } from '../../../openapi/schemas.ts'

const schema: OpenApiSchema = {
  type: 'object',
  properties: {
    metadata: { type: 'object', properties: { labels: { type: 'object', additionalProperties: { type: 'string' } } } },
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        args: { type: 'array', items: { type: 'string' } },
        finalizers: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        ports: {
          type: 'array',
          items: { type: 'object', properties: { port: { type: 'integer' }, protocol: { type: 'string' } } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
        },
        selector: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' },
        anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
} as OpenApiSchema

const base = (): JsonMap & { metadata: JsonMap; spec: JsonMap } => ({
  metadata: { name: 'a', labels: { app: 'x', tier: 'y' } },
  spec: {
    size: 1,
    args: ['a', 'b'],
    finalizers: ['one', 'two'],
    ports: [
      { port: 80, protocol: 'TCP' },
      { port: 81, protocol: 'UDP' },
    ],
    selector: { a: 'b' },
    anything: { deep: { list: [1], text: 'x' } },
  },
})

/** Each makes an object of which some fields are others. */
const differing: Record<string, (object: ReturnType<typeof base>) => void> = {
  'a label more': ({ metadata }) => Object.assign(metadata.labels as JsonMap, { more: '1' }),
  'a label of another name': ({ metadata }) => Object.assign(metadata, { labels: { app: 'x', level: 'y' } }),
  'no labels': ({ metadata }) => Object.assign(metadata, { labels: {} }),
  'labels that are null': ({ metadata }) => Object.assign(metadata, { labels: null }),
  'a field less': ({ spec }) => delete spec.selector,
  'an item of another key': ({ spec }) => Object.assign((spec.ports as JsonMap[])[1]!, { port: 82 }),
  'an item without one of its keys': ({ spec }) => delete (spec.ports as JsonMap[])[0]!.protocol,
  'an item less': ({ spec }) => (spec.ports as JsonMap[]).pop(),
  'the same key twice': ({ spec }) => (spec.ports as JsonMap[]).push({ port: 80, protocol: 'TCP' }),
  'another member of a set': ({ spec }) => Object.assign(spec, { finalizers: ['one', 'three'] }),
  'an empty list': ({ spec }) => Object.assign(spec, { ports: [] }),
  'a scalar where a map was': ({ spec }) => Object.assign(spec.anything as JsonMap, { deep: 'flat' }),
  'a map where a scalar was': ({ spec }) =>
    Object.assign(spec.anything as JsonMap, { deep: { list: [1], text: { a: 1 } } }),
  'a map where a list was': ({ spec }) =>
    Object.assign(spec.anything as JsonMap, { deep: { list: { a: 1 }, text: 'x' } }),
  'something undefined': ({ spec }) => Object.assign(spec, { size: undefined }),
}

const fresh = (object: JsonMap): string => JSON.stringify(beyondZero(compileType(schema), object))

t.test('objects of a known shape have its field set, whatever their values', (t) => {
  const type = compileType(schema)
  const sets = [1, 2, 3].map(() => beyondZero(type, base()))
  const other = base()
  Object.assign(other.metadata, { name: 'b', labels: { app: 'other', tier: '' } })
  Object.assign(other.spec, { size: 0, args: [], selector: { c: 'd', e: 'f' } })
  t.equal(beyondZero(type, other), sets[2])
  t.equal(JSON.stringify(sets[2]), fresh(base()))
  t.end()
})

for (const [what, change] of Object.entries(differing)) {
  t.test(`${what} makes another shape`, (t) => {
    const type = compileType(schema)
    for (let times = 0; times < 3; times++) beyondZero(type, base())
    const object = base()
    change(object)
    for (let times = 0; times < 3; times++) t.equal(JSON.stringify(beyondZero(type, object)), fresh(object))
    t.equal(JSON.stringify(beyondZero(type, base())), fresh(base()), 'and the known one stays known')
    t.end()
  })
}
