/** Integers of custom resources beyond 2⁵³: Go reads them as int64, and what is no int64 as a float64. */
import t from 'tap'
import { startTestApiServer } from '../../harness/api-server.ts'
import { until } from '../../harness/until.ts'

const server = await startTestApiServer(t)
const group = 'digits.example.com'
const counters = `/apis/${group}/v1/namespaces/default/counters`
const odd = '9007199254740993'
const even = '9007199254740992'
const largest = '9223372036854775807'
const smallest = '-9223372036854775808'

async function send(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  const { status, bytes } = await server.send(path, { method, body, headers })
  return { status, text: bytes.toString() }
}
const patch = (path: string, type: string, body: string) =>
  send('PATCH', path, body, { 'content-type': `application/${type}` })
const counter = (name: string, spec: string) =>
  `{"apiVersion":"${group}/v1","kind":"Counter","metadata":{"name":"${name}"},"spec":${spec}}`

const integer = { type: 'integer', format: 'int64' }
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: {
        n: { ...integer, 'x-kubernetes-validations': [{ rule: `self != ${even}`, message: 'even' }] },
        set: { type: 'array', items: integer, 'x-kubernetes-list-type': 'set' },
        map: {
          type: 'array',
          items: { type: 'object', required: ['id'], properties: { id: integer, v: { type: 'string' } } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['id'],
        },
        small: { type: 'integer', format: 'int32' },
        even: { ...integer, multipleOf: 2 },
        one: { ...integer, enum: ['@@'] },
        defaulted: { ...integer, default: '@@' },
        port: { 'x-kubernetes-int-or-string': true },
        ratio: { type: 'number' },
      },
    },
  },
}
const crd = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `counters.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'counters', kind: 'Counter' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
        selectableFields: [{ jsonPath: '.spec.n' }],
      },
    ],
  },
}).replaceAll('"@@"', odd)

t.test('the definition keeps the digits of its defaults and enums', async (t) => {
  const { status, text } = await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd)
  t.equal(status, 201, text)
  t.match(text, `"default":${odd}`)
  t.match(text, `"enum":[${odd}]`)
  await until(async () => (await send('GET', counters)).status === 200, { what: 'the new kind is served' })
})

t.test('every digit is kept, where the schema knows the integer and where it does not', async (t) => {
  for (const [index, digits] of [odd, largest, smallest].entries()) {
    const spec = `{"n":${digits},"port":${digits},"free":{"list":[${digits}]},"set":[${digits}]}`
    const { status, text } = await send('POST', counters, counter(`c${index}`, spec))
    t.equal(status, 201, text)
    t.match(text, `"spec":{${spec.slice(1, -1)},"defaulted":${odd}}`)
    const read = await send('GET', `${counters}/c${index}`)
    t.match(read.text, `"spec":{${spec.slice(1, -1)},"defaulted":${odd}}`)
    const changed = await patch(`${counters}/c${index}`, 'merge-patch+json', '{"metadata":{"labels":{"a":"b"}}}')
    t.match(changed.text, `"spec":{${spec.slice(1, -1)},"defaulted":${odd}}`, 'a patch of something else')
    const table = await send('GET', counters, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    t.match(table.text, `"cells":["c${index}",${digits}]`)
    const selected = await send('GET', `${counters}?fieldSelector=spec.n=${digits}`)
    t.match(selected.text, `"name":"c${index}"`)
  }
  t.notMatch((await send('GET', `${counters}?fieldSelector=spec.n=${even}`)).text, '"name":')
})

t.test('two integers that JavaScript takes for one are two', async (t) => {
  const both = await send('POST', counters, counter('set', `{"set":[${odd},${even}]}`))
  t.equal(both.status, 201, both.text)
  const twice = await send('POST', counters, counter('twice', `{"set":[${odd},${odd}]}`))
  t.match(twice, { status: 422, text: `spec.set[1]: Duplicate value: ${odd}` })
  const map = await send('POST', counters, counter('map', `{"map":[{"id":${odd}},{"id":${even}}]}`))
  t.equal(map.status, 201, map.text)
  const rule = await send('POST', counters, counter('rule', `{"n":${even}}`))
  t.match(rule, { status: 422, text: 'even' })
  const one = await send('POST', counters, counter('one', `{"one":${odd}}`))
  t.equal(one.status, 201, one.text)
  const other = await send('POST', counters, counter('other', `{"one":${even}}`))
  t.match(other, { status: 422, text: `Unsupported value: ${even}: supported values: \\"${odd}\\"` })
  const multiple = await send('POST', counters, counter('multiple', `{"even":${odd}}`))
  t.match(multiple, { status: 422, text: 'should be a multiple of 2' })
})

t.test('apply knows items and owners by every digit', async (t) => {
  const apply = (name: string, manager: string, spec: string) =>
    patch(`${counters}/${name}?fieldManager=${manager}`, 'apply-patch+yaml', counter(name, spec))
  const made = await apply('applied', 'one', `{"n":${odd},"set":[${largest}],"map":[{"id":${odd},"v":"x"}]}`)
  t.equal(made.status, 201, made.text)
  t.match(made.text, `"v:${largest}":{}`)
  t.match(made.text, `"k:{\\"id\\":${odd}}":`)
  const added = await apply('applied', 'two', `{"n":${odd},"map":[{"id":${even},"v":"y"}]}`)
  t.equal(added.status, 200, added.text)
  t.match(added.text, `"map":[{"id":${odd},"v":"x"},{"id":${even},"v":"y"}]`)
  const conflict = await apply('applied', 'two', `{"n":9007199254740995,"map":[{"id":${odd},"v":"z"}]}`)
  t.match(conflict, { status: 409, text: `.spec.map[id=${odd}].v` })
  const removed = await apply('applied', 'one', `{"n":${odd}}`)
  t.match(removed.text, `"map":[{"id":${even},"v":"y"}]`)
})

t.test('what no int64 holds is a float64, as in Go', async (t) => {
  const { status, text } = await send(
    'POST',
    counters,
    counter('float', '{"free":9223372036854775808,"ratio":9007199254740993}'),
  )
  t.equal(status, 201, text)
  t.match(text, '"free":9223372036854776000,"ratio":9007199254740993')
  const beyond = await send('POST', counters, counter('beyond', '{"n":9223372036854775808}'))
  t.match(beyond, { status: 422, text: 'spec.n: Invalid value' })
  t.match(beyond.text, 'Checked value must be of type integer with format int64 in spec.n')
  const small = await send('POST', counters, counter('small', `{"small":${odd}}`))
  t.match(small, { status: 422, text: 'Checked value must be of type integer with format int32 in spec.small' })
})
