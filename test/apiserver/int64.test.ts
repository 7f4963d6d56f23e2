/** Integers that no JavaScript number holds: Kubernetes' are of 64 bits, and every digit is kept. */

import { get } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { encodeObject } from '../../apiserver/kind/encode-object.ts'
import { decodeProtobuf } from '../../apiserver/protobuf/decode.ts'
import { encodeProtobuf } from '../../apiserver/protobuf/encode.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { decodeObject } from '../../apiserver/validation/decoder.ts'
import { structType, type ValueType } from '../../openapi/types.ts'
import { mayBeLarge, parseExact, toJson } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'

const beyond = ['9007199254740993', '9223372036854775807', '-9223372036854775808']
const [odd = '', largest = ''] = beyond
const tooLarge = '9223372036854775808'
/** What JavaScript makes of them. */
const rounded = /9007199254740992|9007199254740994|922337203685477(6000|5808\b(?<!-9223372036854775808))/

t.test('a large integer is found wherever it stands, and digits in strings are not taken for one', (t) => {
  for (let before = 0; before < 40; before++) {
    for (let digits = 1; digits < 40; digits++) {
      const number = '9'.repeat(digits)
      for (const [open, close] of [
        [`[${' '.repeat(before)}`, ']'],
        [`{"${'a'.repeat(before)}":-`, ',"b":1}'],
      ] as const) {
        const text = open + number + close
        if (mayBeLarge(text) !== digits >= 16) t.fail(`${text}: ${mayBeLarge(text)}`)
      }
      if (mayBeLarge(`["${'a'.repeat(before + 1)}${number}"]`))
        t.fail(`${before} letters, ${digits} digits in a string`)
    }
  }
  t.ok(mayBeLarge('9007199254740993'), 'alone')
  t.end()
})

const kinds = resources.filter(({ virtual }) => !virtual)

/** Paths to the 64-bit integers of a type: names of fields, 0 for an item, `key` for an entry of a map. */
function integers(type: ValueType, above: readonly string[] = []): (string | number)[][] {
  switch (type.kind) {
    case 'int64':
      return [[]]
    case 'list':
      return integers(type.item!, above).map((path) => [0, ...path])
    case 'map':
      return integers(type.item!, above).map((path) => ['key', ...path])
    case 'object':
      if (above.includes(type.ref!)) return []
      return structType(type.ref!).fields.flatMap((field) =>
        integers(field.type, [...above, type.ref!]).map((path) => [field.name, ...path]),
      )
    default:
      return []
  }
}
const pathsOf = (schema: string) => integers({ kind: 'object', pointer: false, goType: '', ref: schema })

function withAt(object: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'number') {
    const items = Array.isArray(object) ? [...object] : []
    items[step] = withAt(items[step], rest, value)
    return items
  }
  const entries = (object ?? {}) as Record<string, unknown>
  return { ...entries, [step]: withAt(entries[step], rest, value) }
}
/** JSON in which the text `@@` stands for an integer. */
const textOf = (object: unknown, digits: string) => JSON.stringify(object).replaceAll('"@@"', digits)
const count = (text: string, digits: string) => text.split(new RegExp(`${digits}\\b`)).length - 1

t.test('every 64-bit field of every kind is read and written to the digit', async (t) => {
  for (const { schema, kind, group, version } of kinds) {
    const apiVersion = group ? `${group}/${version}` : version
    const paths = pathsOf(schema)
    const all = paths.reduce<unknown>((object, path) => withAt(object, path, '@@'), { apiVersion, kind })
    for (const digits of beyond) {
      const text = textOf(all, digits)
      const { object } = decodeObject({ schema }, parseExact(text))
      t.equal(count(encodeObject(object), digits), paths.length, `${apiVersion} ${kind} ${digits} in JSON`)
      const encoded = encodeProtobuf(parseExact(text) as Record<string, unknown>)
      if (!encoded) continue
      const read = decodeObject({ schema }, decodeProtobuf(encoded)).object
      t.equal(count(encodeObject(read as KubeObject), digits), paths.length, `${kind} ${digits} in protobuf`)
    }
  }
})

t.test('every 64-bit field of every kind is refused beyond 64 bits', async (t) => {
  for (const { schema, kind } of kinds) {
    for (const path of pathsOf(schema)) {
      const body = parseExact(textOf(withAt({}, path, '@@'), tooLarge))
      const name = `${kind} ${path.join('.')}`
      t.throws(
        () => decodeObject({ schema }, body),
        { message: new RegExp(`^json: cannot unmarshal number ${tooLarge} into Go .* of type (\\*|\\[\\])*u?int`) },
        name,
      )
    }
  }
})

const pods = '/api/v1/namespaces/default/pods'
const pod = (name: string, digits: string) =>
  textOf(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { terminationGracePeriodSeconds: '@@', containers: [{ name: 'c', image: 'i' }] },
    },
    digits,
  )
const types = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  jsonPatch: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
}

interface Sent {
  method?: string
  body?: string | Buffer
  type?: keyof typeof types
  accept?: string
}
/** The status and the text of an answer. */
async function ask(server: TestApiServer, path: string, { method = 'GET', body, type, accept }: Sent = {}) {
  const { status, bytes } = await server.send(path, {
    method,
    body,
    headers: { ...(type && { 'content-type': types[type] }), ...(accept && { accept }) },
  })
  return { status, text: bytes.toString(), bytes }
}

/** Lines of a watch from the beginning, until one has the text; fails after 20 s. */
async function watched(server: TestApiServer, path: string, wanted: string): Promise<string> {
  const url = `https://127.0.0.1:${server.port}${path}${path.includes('?') ? '&' : '?'}watch=true&resourceVersion=0`
  let text = ''
  const request = get(url, server.tls, (response) => response.on('data', (chunk) => (text += chunk)))
  request.on('error', () => {})
  for (const endMs = Date.now() + 20_000; !text.includes(wanted) && Date.now() < endMs; ) await wait(20)
  request.destroy()
  return text
}

t.test('a pod keeps every digit on each way in and out', async (t) => {
  const server = await startTestApiServer(t)
  const { status, text } = await ask(server, pods, { method: 'POST', body: pod('a', largest) })
  t.equal(status, 201, text)
  const field = `"terminationGracePeriodSeconds":${largest}`
  t.match(text, field)
  for (const path of [`${pods}/a`, pods, '/api/v1/pods?limit=1']) t.match((await ask(server, path)).text, field, path)
  t.match((await ask(server, `${pods}/a?pretty=1`)).text, `"terminationGracePeriodSeconds": ${largest}`)
  t.match((await ask(server, `${pods}/a`, { accept: types.yaml })).text, `terminationGracePeriodSeconds: ${largest}`)
  const { bytes } = await ask(server, `${pods}/a`, { accept: types.protobuf })
  t.match(toJson(decodeProtobuf(bytes)), field, 'protobuf')
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
  t.match((await ask(server, `${pods}?includeObject=Object`, { accept: table })).text, field, 'table')
  t.match(await watched(server, pods, largest), field, 'watch')

  await t.test('written as YAML and protobuf', async (t) => {
    const yaml = pod('yaml', '1').replace('PeriodSeconds":1', `PeriodSeconds": ${odd}`)
    t.match((await ask(server, pods, { method: 'POST', type: 'yaml', body: yaml })).text, odd)
    const block = `apiVersion: v1\nkind: Pod\nmetadata: {name: block}\nspec:\n  terminationGracePeriodSeconds: ${odd}\n  containers: [{name: c, image: i}]\n`
    t.match((await ask(server, pods, { method: 'POST', type: 'yaml', body: block })).text, odd)
    const hex = block.replace('block', 'hex').replace(odd, '0x7fff_ffff_ffff_ffff')
    t.match((await ask(server, pods, { method: 'POST', type: 'yaml', body: hex })).text, largest)
    const protobuf = encodeProtobuf(parseExact(pod('protobuf', odd)) as Record<string, unknown>)!
    t.match((await ask(server, pods, { method: 'POST', type: 'protobuf', body: protobuf })).text, odd)
  })

  await t.test('changed by a write that says nothing of it, of any kind', async (t) => {
    const labels = (value: string) => `{"metadata":{"labels":{"by":"${value}"}}}`
    const writes: [keyof typeof types, string][] = [
      ['merge', labels('merge')],
      ['strategic', labels('strategic')],
      ['jsonPatch', '[{"op":"add","path":"/metadata/labels/by","value":"jsonPatch"}]'],
    ]
    for (const [type, body] of writes) {
      const { status, text } = await ask(server, `${pods}/a`, { method: 'PATCH', type, body })
      t.equal(status, 200, text)
      t.match(text, field, type)
    }
    const current = (await ask(server, `${pods}/a`)).text
    const { status, text } = await ask(server, `${pods}/a`, { method: 'PUT', body: current.replace('"by"', '"by2"') })
    t.equal(status, 200, text)
    t.match(text, field, 'update')
    t.match(
      (await ask(server, `${pods}/a/status`, { method: 'PATCH', type: 'merge', body: '{"status":{"message":"m"}}' }))
        .text,
      field,
    )
    // Grows by one with each change of the spec.
    const image = '{"spec":{"containers":[{"name":"c","image":"j"}]}}'
    t.match((await ask(server, `${pods}/a`, { method: 'PATCH', type: 'strategic', body: image })).text, field)
  })

  await t.test('written by patches and by apply', async (t) => {
    const spec = (digits: string) => `{"spec":{"activeDeadlineSeconds":${digits}}}`
    const change = async (type: keyof typeof types, body: string) => {
      const { status, text } = await ask(server, `${pods}/a?fieldManager=m`, { method: 'PATCH', type, body })
      t.ok(status < 500, `${type} ${status}`)
      t.notMatch(text, rounded, `${type} ${body}`)
      return text
    }
    // At most 2³¹ − 1: the refusal says what was sent.
    for (const type of ['merge', 'strategic'] as const)
      t.match(await change(type, spec(odd)), `Invalid value: ${odd}`, type)
    t.match(await change('jsonPatch', `[{"op":"add","path":"/spec/activeDeadlineSeconds","value":${odd}}]`), odd)
    const test = `[{"op":"test","path":"/spec/terminationGracePeriodSeconds","value":`
    t.match(await change('jsonPatch', `${test}${largest}}]`), field, 'the test of a JSON patch tells it from others')
    t.match(await change('jsonPatch', `${test}9223372036854775806}]`), /rejected our request/)
    t.match(
      await change(
        'jsonPatch',
        '[{"op":"copy","from":"/spec/terminationGracePeriodSeconds","path":"/spec/activeDeadlineSeconds"}]',
      ),
      `Invalid value: ${largest}`,
    )
    const applied = pod('applied', odd)
    const made = await ask(server, `${pods}/applied?fieldManager=m`, { method: 'PATCH', type: 'apply', body: applied })
    t.equal(made.status, 201, made.text)
    t.match(made.text, odd)
    const again = await ask(server, `${pods}/applied?fieldManager=m`, { method: 'PATCH', type: 'apply', body: applied })
    t.match(again.text, odd)
    const other = pod('applied', '9007199254740992')
    const conflict = await ask(server, `${pods}/applied?fieldManager=n`, {
      method: 'PATCH',
      type: 'apply',
      body: other,
    })
    t.equal(conflict.status, 409, 'another value is a conflict')
  })

  await t.test('one more than 64 bits hold is refused', async (t) => {
    const refusal = `json: cannot unmarshal number ${tooLarge} into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64`
    t.match(await ask(server, pods, { method: 'POST', body: pod('b', tooLarge) }), {
      status: 400,
      text: `Pod in version \\"v1\\" cannot be handled as a Pod: ${refusal}`,
    })
    for (const type of ['merge', 'strategic'] as const) {
      const body = `{"spec":{"terminationGracePeriodSeconds":${tooLarge}}}`
      t.equal((await ask(server, `${pods}/a`, { method: 'PATCH', type, body })).status, 422, type)
    }
    const applied = await ask(server, `${pods}/a?fieldManager=m&force=true`, {
      method: 'PATCH',
      type: 'apply',
      body: pod('a', tooLarge),
    })
    t.match(applied.text, 'cannot convert float64 to int64')
    t.notMatch((await ask(server, `${pods}/a`)).text, tooLarge)
  })

  await t.test('the grace of a deletion', async (t) => {
    const bound = pod('bound', largest).replace('"spec":{', '"spec":{"nodeName":"n",')
    t.equal((await ask(server, pods, { method: 'POST', body: bound })).status, 201)
    const { status, text } = await ask(server, `${pods}/bound`, { method: 'DELETE' })
    t.equal(status, 200, text)
    t.match(text, `"deletionGracePeriodSeconds":${largest}`)
  })
})

t.test('no kind rounds a 64-bit field, or fails by it', { timeout: 240_000 }, async (t) => {
  const server = await startTestApiServer(t)
  for (const definition of kinds) {
    const { group, version, plural, kind, namespaced, schema, example, verbs } = definition
    if (verbs && !verbs.includes('create')) continue
    const base = `${group ? `/apis/${group}` : '/api'}/${version}${namespaced ? '/namespaces/default' : ''}/${plural}`
    const broken: string[] = []
    // A field of one struct at one of its places: a pod has ten probes.
    const places = new Map(pathsOf(schema).map((path) => [path.slice(-2).join('.'), path]))
    for (const path of places.values()) {
      const body = textOf(withAt(example, path, '@@'), odd)
      const { status, text } = await ask(server, `${base}?dryRun=All`, { method: 'POST', body })
      if (status >= 500 || rounded.test(text)) broken.push(`${path.join('.')}: ${status} ${text}`)
    }
    t.same(broken, [], kind)
  }
})
