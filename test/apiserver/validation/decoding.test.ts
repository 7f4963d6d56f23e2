import { readFileSync } from 'node:fs'
import t from 'tap'
import { decodeObject, decodeStruct, zeroOf } from '../../../apiserver/validation/decoder.ts'
import { dump } from '../../../apiserver/validation/go-dump.ts'
import { scanJson } from '../../../apiserver/validation/json-scanner.ts'
import { assertObjectBody, decodeBody, findingsIn, parseJsonBody } from '../../../apiserver/validation/request-body.ts'
import type { StatusError } from '../../../shared/api/status/status-error.ts'

const pod = { group: '', version: 'v1', kind: 'Pod', schema: 'io.k8s.api.core.v1.Pod' }
const configMap = { group: '', version: 'v1', kind: 'ConfigMap', schema: 'io.k8s.api.core.v1.ConfigMap' }
const service = { group: '', version: 'v1', kind: 'Service', schema: 'io.k8s.api.core.v1.Service' }
const secret = { group: '', version: 'v1', kind: 'Secret', schema: 'io.k8s.api.core.v1.Secret' }
const event = { group: '', version: 'v1', kind: 'Event', schema: 'io.k8s.api.core.v1.Event' }

const messageOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}

t.test('a decoded object is in the form in which it is stored', async (t) => {
  const { object, strictErrors } = decodeObject(pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    spec: {
      hostNetwork: false,
      terminationGracePeriodSeconds: 0,
      nodeName: '',
      volumes: [],
      nodeSelector: {},
      containers: [{ image: 'x', name: 'a', args: null, resources: { requests: { cpu: 0.5, memory: '1024Ki' } } }],
    },
    metadata: { labels: { a: null }, creationTimestamp: null, name: 'p' },
  })
  t.equal(
    JSON.stringify(object),
    '{"metadata":{"name":"p","labels":{"a":""}},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"image":"x","name":"a","resources":{"requests":{"cpu":"500m","memory":"1Mi"}}}]},"status":{}}',
  )
  t.same(strictErrors, [])
})

t.test('what was never set is written as upstream writes it', async (t) => {
  t.same(zeroOf(pod.schema), { metadata: {}, spec: { containers: null }, status: {} })
  const { object } = decodeObject(event, { metadata: { name: 'e' } })
  t.match(object, { source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null, reportingComponent: '' })
})

t.test('a body without a name still begins with it once it has one', async (t) => {
  const { object } = decodeObject(configMap, { metadata: { generateName: 'a-' } })
  object.metadata.name = 'a-x'
  t.equal(JSON.stringify(object), '{"metadata":{"name":"a-x","generateName":"a-"}}')
  t.equal(JSON.stringify(decodeObject(configMap, {}).object), '{"metadata":{}}')
})

t.test('__proto__ is a key like any other', async (t) => {
  const body = JSON.parse(
    '{"metadata":{"name":"x","__proto__":{"polluted":1}},"__proto__":{"polluted":1},"data":{"__proto__":"v"}}',
  )
  const { object, strictErrors } = decodeObject(configMap, body)
  t.same(strictErrors, ['unknown field "metadata.__proto__"', 'unknown field "__proto__"'])
  t.equal(JSON.stringify(object), '{"metadata":{"name":"x"},"data":{"__proto__":"v"}}')
  t.equal(({} as { polluted?: number }).polluted, undefined)
})

t.test('wrong types in the words of the decoder of a real server', async (t) => {
  const cases: [definition: { schema: string }, body: unknown, message: string][] = [
    [
      pod,
      { spec: { hostNetwork: 'true' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
    ],
    [
      pod,
      { spec: { containers: [{ livenessProbe: { grpc: { port: 'x' } } }] } },
      'json: cannot unmarshal string into Go struct field GRPCAction.spec.containers.livenessProbe.ProbeHandler.grpc.port of type int32',
    ],
    [
      pod,
      { metadata: { labels: { a: 1 } } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      pod,
      { spec: { terminationGracePeriodSeconds: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
    ],
    [
      pod,
      { spec: { containers: [{ args: [1] }] } },
      'json: cannot unmarshal number into Go struct field Container.spec.containers.args of type string',
    ],
    [
      pod,
      { spec: { containers: ['x'] } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container',
    ],
    [
      pod,
      { spec: { containers: {} } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      configMap,
      { metadata: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
    ],
    [
      service,
      { spec: { ports: [{ targetPort: true }] } },
      'json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32',
    ],
    [secret, { data: { k: 'v' } }, 'illegal base64 data at input byte 0'],
    [secret, { data: { k: 'not base64!' } }, 'illegal base64 data at input byte 3'],
    [
      event,
      { eventTime: '2024-01-01T00:00:00Z' },
      'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    [
      event,
      { firstTimestamp: 'soon' },
      'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    ],
    [event, { firstTimestamp: '2024-02-30T00:00:00Z' }, 'parsing time "2024-02-30T00:00:00Z": day out of range'],
  ]
  for (const [definition, body, message] of cases)
    t.equal(
      messageOf(() => decodeObject(definition, body)),
      message,
    )
})

t.test('times come out in UTC and whole seconds', async (t) => {
  const { object } = decodeObject(event, {
    firstTimestamp: '2024-01-01T02:00:00.9+02:00',
    eventTime: '2024-01-01T02:00:00.123456+02:00',
  })
  t.match(object, { firstTimestamp: '2024-01-01T00:00:00Z', eventTime: '2024-01-01T00:00:00.123456Z' })
})

t.test('unknown fields are dropped and named in the order of the body', async (t) => {
  const { object, strictErrors } = decodeObject(pod, {
    foo: 1,
    metadata: { name: 'p', bar: 2 },
    spec: { containers: [{ name: 'a', livenessProbe: { grace: 1 } }], Volumes: [] },
  })
  t.same(strictErrors, [
    'unknown field "foo"',
    'unknown field "metadata.bar"',
    'unknown field "spec.containers[0].livenessProbe.grace"',
    'unknown field "spec.Volumes"',
  ])
  t.notOk('foo' in object)
})

t.test('reasonDelivery is a field of preStop alone', async (t) => {
  const lifecycle = { exec: { command: ['x'] }, reasonDelivery: { env: 'WHY' } }
  const { strictErrors } = decodeObject(pod, {
    spec: { containers: [{ name: 'a', lifecycle: { preStop: { ...lifecycle }, postStart: { ...lifecycle } } }] },
  })
  t.same(strictErrors, ['unknown field "spec.containers[0].lifecycle.postStart.reasonDelivery"'], 'not of postStart')
})

t.test('delete options', async (t) => {
  const schema = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'
  t.same(decodeStruct(schema, { gracePeriodSeconds: 5, reason: 'Update' }).value, {
    gracePeriodSeconds: 5,
    reason: 'Update',
  })
  t.throws(() => decodeStruct(schema, { propagationPolicy: 5 }), {
    message:
      'json: cannot unmarshal number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation',
  })
  t.throws(() => decodeStruct(schema, { dryRun: 'All' }), {
    message: 'json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string',
  })
})

t.test('duplicate keys are found only where they are', async (t) => {
  const duplicates = (text: string) => findingsIn(text, JSON.parse(text)).duplicates
  t.same(duplicates('{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}],"a":{}}'), [
    'duplicate field "a.b"',
    'duplicate field "c[0].d"',
    'duplicate field "a"',
  ])
  t.same(duplicates('{"a":"\\":\\":","b" : {"a":1}}'), [])
})

t.test('syntax errors in the words of Go', async (t) => {
  const cases: [text: string, error: string][] = [
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['hello', "invalid character 'h' looking for beginning of value"],
    ['{"a":}', "invalid character '}' looking for beginning of value"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['tru', 'unexpected end of JSON input'],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
  ]
  for (const [text, error] of cases) t.equal(scanJson(text).error, error, JSON.stringify(text))
})

/** A recorded step, as far as this test reads it. */
interface Step {
  method?: string
  path: string
  type?: string
  body?: unknown
  raw?: string
  answer?: { status: number; body?: { message?: string } }
}
interface Scenario {
  name: string
  steps: Step[]
}
const recorded = JSON.parse(
  readFileSync(new URL('../../golden/api/requests.json', import.meta.url), 'utf8'),
) as Scenario[]

t.test('bodies that a real server refused to decode', async (t) => {
  const definitions: Record<string, typeof pod> = { pods: pod, configmaps: configMap, services: service }
  let compared = 0
  for (const { name, steps } of recorded) {
    const step = steps.find(({ answer }) => answer)
    const [plural = '', query = ''] = (step?.path.split('/').at(-1) ?? '').split('?')
    const definition = definitions[plural]
    const message = step?.answer?.body?.message ?? ''
    const concerns =
      / cannot be handled as a | is unrecognized /.test(message) && !/yaml|protobuf/.test(step?.type ?? '')
    if (!step || !definition || step.method !== 'POST' || step.answer?.status !== 400 || !concerns) continue
    const text = step.raw ?? JSON.stringify(step.body)
    const fieldValidation = query.includes('Strict') ? 'Strict' : 'Warn'
    const error = messageOf(() =>
      decodeBody(definition, assertObjectBody(parseJsonBody(text, definition.kind), text, definition.kind), {
        text,
        fieldValidation,
      }),
    )
    t.equal(error, message, name)
    compared++
  }
  t.ok(compared > 20, `${compared} answers compared`)
})

t.test('under Warn the same is told and taken', async (t) => {
  const text = '{"metadata":{"name":"x"},"data":{"a":"1","a":"2"},"foo":1}'
  const { object, strictErrors } = decodeBody(configMap, JSON.parse(text), { text })
  t.same(strictErrors, ['unknown field "foo"', 'duplicate field "data.a"'])
  t.match(object, { data: { a: '2' } })
  t.throws(() => decodeBody(configMap, JSON.parse(text), { text, fieldValidation: 'Strict' }), {
    code: 400,
    message:
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo", duplicate field "data.a"',
  } satisfies Partial<StatusError>)
})

t.test('nesting has an end', async (t) => {
  const nested = (depth: number) => `{"data":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const refusal = (depth: number) =>
    messageOf(() => assertObjectBody(parseJsonBody(nested(depth), 'ConfigMap'), nested(depth), 'ConfigMap'))
  t.equal(refusal(1000), 'no error')
  t.match(refusal(50_000), 'exceeded max depth')
})

t.test('a dump of a struct shows a field that upstream lacks where it is set alone', async (t) => {
  const shown = (preStop: object) => {
    const lifecycle = dump('io.k8s.api.core.v1.Lifecycle', { preStop }) as { PreStop: object }
    return lifecycle.PreStop
  }
  const fields = ['Exec', 'HTTPGet', 'TCPSocket', 'Sleep']
  t.same(Object.keys(shown({ sleep: { seconds: 1 } })), fields)
  t.match(shown({ sleep: { seconds: 1 }, reasonDelivery: { env: 'WHY' } }), { ReasonDelivery: { Env: 'WHY' } })
})
