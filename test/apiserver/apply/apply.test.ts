import { deepStrictEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { encodeObject } from '../../../apiserver/kind/encode-object.ts'
import { updateManagedFields } from '../../../apiserver/patch/apply.ts'
import type { ManagedFieldsEntry } from '../../../apiserver/patch/managed-fields.ts'
import { applyMergePatch } from '../../../apiserver/patch/merge-patch.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { type Json, Stage } from './stage.ts'

const configMap = 'io.k8s.api.core.v1.ConfigMap'
const pod = 'io.k8s.api.core.v1.Pod'
const config = (data: Record<string, unknown>): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c' },
  data,
})

interface Step {
  method?: string
  path?: string
  type?: string
  body?: Json
  headers?: object
  sleepMs?: number
  answer?: { status: number; body?: Json & { message?: string; data?: unknown } }
}
const recorded = JSON.parse(readFileSync(new URL('../../golden/api/apply.json', import.meta.url), 'utf8')) as {
  name: string
  steps: Step[]
}[]
const ownErrors = /^Apply failed|^failed to create typed patch object/
/** Scenarios that need no more of a server than its field management. */
const isolated = recorded.filter(({ steps }) =>
  steps.every(({ path, method, type = '', body, answer, headers }) => {
    if (path === undefined) return true
    if (!/^\/api\/v1\/namespaces\/{{ns}}\/configmaps(\/c)?(\?fieldManager=[^&]+)?(&force=\w+)?$/.test(path))
      return false
    if (
      headers ||
      (answer?.body && 'kind' in answer.body && answer.body.kind === 'PartialObjectMetadata') ||
      JSON.stringify(body ?? {}).includes('{{')
    )
      return false
    if (method === 'PATCH' && !/apply-patch\+yaml$|\/merge-patch/.test(type)) return false
    if (method === 'DELETE' || (method && method !== 'GET' && !body) || path.includes('dryRun')) return false
    const message = answer?.body?.message
    return message === undefined || ownErrors.test(message)
  }),
)

t.test('recorded answers of a real server', async (t) => {
  t.ok(isolated.length > 25, `${isolated.length} scenarios`)
  for (const { name, steps } of isolated) {
    const stage = new Stage(configMap)
    for (const step of steps) play(t, name, stage, step)
  }
})

function play(t: Test, name: string, stage: Stage, { method, path = '', type, body, sleepMs, answer }: Step): void {
  if (sleepMs) stage.tick()
  const query = new URL(path, 'http://x').searchParams
  const manager = query.get('fieldManager') ?? 'unknown'
  const force = query.has('force') && query.get('force') !== 'false'
  let message: string | undefined
  try {
    if (type?.includes('apply')) stage.apply(manager, body!, { force })
    else if (type?.includes('/merge-patch')) {
      stage.write(manager, applyMergePatch(structuredClone(stage.live), body) as Json)
    } else if (body) stage.write(manager, body)
  } catch (error) {
    message = (error as StatusError).message
  }
  const want = answer?.body
  if (!want) return
  t.equal(message, want.message, `${name}: message`)
  if (want.message !== undefined || method === undefined) return
  const seen = (entries: unknown) =>
    (entries as Json[] | undefined)?.map(({ time, ...entry }) => ({ ...entry, timed: time !== undefined }))
  t.same(seen(stage.live?.metadata.managedFields), seen(want.metadata?.managedFields), `${name}: managedFields`)
  t.same((stage.live as Json).data, want.data, `${name}: data`)
}
t.test('status is owned through its endpoint, the rest through the other', async (t) => {
  const stage = new Stage(pod, { hasStatus: true })
  stage.write('creator', {
    metadata: { name: 'p', labels: { a: '1' } },
    spec: { containers: [{ name: 'a', image: 'i' }] },
    status: { phase: 'Pending' },
  })
  t.notOk(JSON.stringify(stage.managedFields).includes('f:status'))
  stage.write(
    'kubelet',
    { ...(stage.live as unknown as Json), status: { phase: 'Running', podIPs: [{ ip: '1.2.3.4' }] } },
    'status',
  )
  t.match(stage.managedFields[1], {
    manager: 'kubelet',
    subresource: 'status',
    fieldsV1: { 'f:status': { 'f:phase': {}, 'f:podIPs': { '.': {}, 'k:{"ip":"1.2.3.4"}': { '.': {}, 'f:ip': {} } } } },
  })
})

t.test('objects of one shape share their fields; what is stored is each one whole', async (t) => {
  const made = ['web', 'db'].map((name) => {
    const stage = new Stage(pod, { hasStatus: true })
    const object = decodeObject(
      { schema: pod },
      { metadata: { name }, spec: { containers: [{ name, image: 'i' }] } },
    ).object
    updateManagedFields(stage.kind, undefined, object as unknown as Json, {
      manager: name,
      time: '2026-01-01T00:00:00Z',
    })
    return object
  })
  const again = decodeObject(
    { schema: pod },
    { metadata: { name: 'x' }, spec: { containers: [{ name: 'web', image: 'j' }] } },
  )
  updateManagedFields(new Stage(pod).kind, undefined, again.object as unknown as Json, {
    manager: 'x',
    subresource: 's',
    time: 'now',
  })
  const entriesOf = ({ metadata }: KubeObject) => metadata.managedFields as ManagedFieldsEntry[]
  t.equal(entriesOf(made[0]!)[0]!.fieldsV1, entriesOf(again.object)[0]!.fieldsV1)
  t.notSame(entriesOf(made[0]!)[0]!.fieldsV1, entriesOf(made[1]!)[0]!.fieldsV1)
  for (const object of [...made, again.object]) {
    const { name, ...metadata } = object.metadata
    const plain = JSON.stringify({ ...object, metadata: { name, ...metadata } })
    t.same(JSON.parse(encodeObject(object)), JSON.parse(plain))
    t.ok(encodeObject(object).startsWith(`{"metadata":{"name":${JSON.stringify(name)},`))
  }
})

t.test('keys that JavaScript knows too', async (t) => {
  const stage = new Stage(configMap)
  const data = JSON.parse('{"constructor":"1","toString":"2","hasOwnProperty":"3"}') as Record<string, unknown>
  stage.apply('a', config(data))
  t.same((stage.live as Json).data, data)
  stage.write('b', { ...(stage.live as unknown as Json), data: { ...data, constructor: '9' } })
  t.same(
    stage.managedFields.map(({ manager, fieldsV1 }) => [manager, Object.keys((fieldsV1 as Json)['f:data'] as object)]),
    [
      ['a', ['f:hasOwnProperty', 'f:toString']],
      ['b', ['f:constructor']],
    ],
  )
  stage.apply('a', config({ toString: '2' }))
  t.same((stage.live as Json).data, { constructor: '9', toString: '2' })
})

const container = fc.record({
  image: fc.constantFrom('x:1', 'x:2'),
  command: fc.option(fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 }), { nil: undefined }),
  env: fc.option(
    fc.uniqueArray(fc.record({ name: fc.constantFrom('A', 'B', 'C'), value: fc.constantFrom('1', '2') }), {
      selector: ({ name }) => name,
      minLength: 1,
    }),
    { nil: undefined },
  ),
})
const podConfig = (prefix: string) =>
  fc
    .record({
      labels: fc.dictionary(
        fc.constantFrom('a', 'b').map((key) => prefix + key),
        fc.constantFrom('1', '2'),
        { minKeys: 1 },
      ),
      containers: fc.dictionary(
        fc.constantFrom('x', 'y').map((name) => prefix + name),
        container,
        { minKeys: 1 },
      ),
    })
    .map(
      ({ labels, containers }): Json => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p', labels },
        spec: {
          containers: Object.entries(containers).map(([name, rest]) => JSON.parse(JSON.stringify({ name, ...rest }))),
        },
      }),
    )

/** An object without what depends on the order of writes: of lists, and when they happened. */
function essence(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(essence).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'time')
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, essence(item)]))
}

t.test('applying the same again changes nothing', async () => {
  fc.assert(
    fc.property(podConfig(''), podConfig(''), (first, second) => {
      const stage = new Stage(pod, { hasStatus: true })
      stage.apply('a', first)
      stage.apply('b', second, { force: true })
      const before = structuredClone(stage.live)
      stage.tick()
      stage.apply('b', second)
      deepStrictEqual(stage.live, before)
    }),
    { numRuns: 200 },
  )
})

t.test('managers with nothing in common may come in any order', async () => {
  fc.assert(
    fc.property(podConfig('m'), podConfig('n'), podConfig('o'), (first, second, third) => {
      const orders = [
        [first, second, third],
        [third, first, second],
        [second, third, first],
      ]
      const [expected, ...others] = orders.map((order) => {
        const stage = new Stage(pod, { hasStatus: true })
        for (const body of order) stage.apply(body === first ? 'm' : body === second ? 'n' : 'o', body)
        return essence(stage.live)
      })
      for (const other of others) deepStrictEqual(other, expected)
    }),
    { numRuns: 100 },
  )
})

t.test('fields that the manager no longer applies are removed; fields of other owners stay', async () => {
  fc.assert(
    fc.property(podConfig('m'), podConfig('m'), podConfig('n'), (before, after, other) => {
      const stage = new Stage(pod, { hasStatus: true })
      stage.apply('m', before)
      stage.apply('n', other)
      stage.apply('m', after)
      const fresh = new Stage(pod, { hasStatus: true })
      fresh.apply('n', other)
      fresh.apply('m', after)
      deepStrictEqual(essence(stage.live), essence(fresh.live))
    }),
    { numRuns: 200 },
  )
})
