import { readFileSync } from 'node:fs'
import t from 'tap'
import { humanDuration } from '../../../apiserver/kind/cells.ts'
import type { ResourceDefinition, StrategyContext } from '../../../apiserver/kind/resource-definition.ts'
import { createServiceAddresses } from '../../../apiserver/resources/core/service/addresses.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import { errorsAsWritten } from '../../../apiserver/validation/emptied.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import type { FieldErrors } from '../../../apiserver/validation/field-errors.ts'
import { dns1123Subdomain } from '../../../apiserver/validation/names.ts'
import { validateObjectMeta } from '../../../apiserver/validation/object-meta.ts'
import { unifiedDiff } from '../../../apiserver/validation/unified-diff.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import { structType } from '../../../openapi/types.ts'
import type { KubeObject, Pod, Service } from '../../../shared/api/types.ts'
import { defaultFeatureGates, type FeatureGates, featureGateNames } from '../../../shared/config/feature-gates.ts'
import { addedGroups } from '../../openapi/added.ts'

const limits = defaultWorkLimits

const allOff = Object.fromEntries(featureGateNames.map((name) => [name, false])) as FeatureGates
const nowMs = Date.UTC(2026, 0, 1)
const NAMESPACE = 'team-a'
const UID = '11111111-1111-4111-8111-111111111111'

const find = (plural: string): ResourceDefinition => {
  const found = resources.find((definition) => definition.plural === plural)
  if (!found) throw new Error(`no ${plural}`)
  return found
}

interface Created {
  object: KubeObject
  errors: string[]
  warnings: string[]
}

/** What the registry does with a new object, without admission and storage. */
function create(definition: ResourceDefinition, body: unknown, featureGates = defaultFeatureGates): Created {
  const { strategy, namespaced } = definition
  const context: StrategyContext = { nowMs, featureGates, limits, ...(namespaced && { namespace: NAMESPACE }) }
  const { object } = decodeObject(definition, structuredClone(body))
  object.metadata.generation = undefined
  object.metadata.uid = UID
  strategy.applyDefaults?.(object, context)
  if (namespaced) object.metadata.namespace = NAMESPACE
  if (definition.plural === 'pods')
    Object.assign(object.spec as object, { serviceAccountName: 'default', serviceAccount: 'default' })
  const errors: FieldErrors = []
  strategy.begin?.(object, undefined, errors, context)
  if (errors.length === 0) {
    strategy.prepareForCreate?.(object, context)
    const { validateName = dns1123Subdomain } = strategy
    const check = (): FieldErrors => {
      const found: FieldErrors = []
      validateObjectMeta(object.metadata, { namespaced, validateName }, found)
      strategy.validate?.(object, found, context)
      return found
    }
    errors.push(...errorsAsWritten(object, check(), check))
  }
  const texts = errors.map((error) => `${error.field}: ${errorBody(error)}`)
  return { object, errors: [...new Set(texts)], warnings: strategy.warnings?.(object, undefined, context) ?? [] }
}

t.test('a kind of our own with a spec keeps metadata.generation', async (t) => {
  const withSpec = resources.filter(
    ({ group, schema }) => addedGroups.has(group) && structType(schema).byName.has('spec'),
  )
  const silent = withSpec.filter(({ strategy }) => !strategy.generation).map(({ plural }) => plural)
  t.same(silent, [], '`plain` does so with `countsGenerations: true`')
})

t.test('every kind stands by its example', async (t) => {
  for (const definition of resources.filter(({ virtual }) => !virtual)) {
    t.test(definition.plural, async (t) => {
      const example = JSON.parse(JSON.stringify(definition.example).replaceAll('"default"', `"${NAMESPACE}"`))
      const { object, errors } = create(definition, example)
      t.same(errors, [], 'its example is valid')
      // A real server shows an age of IP addresses without a column for it.
      const more = definition.plural === 'ipaddresses' ? 1 : 0
      if (definition.cells)
        t.equal(definition.cells(object, nowMs).length, (definition.columns?.length ?? 0) + more, 'a cell a column')
      for (const read of Object.values(definition.selectableFields ?? {})) t.type(read(object), 'string')
      const again = structuredClone(object)
      definition.strategy.applyDefaults?.(again, { nowMs, featureGates: defaultFeatureGates, limits })
      t.same(again, object, 'defaults of a defaulted object change nothing')
    })
  }
})

interface Step {
  method?: string
  path: string
  body?: unknown
  answer?: { status: number; body?: { message?: string; kind?: string; spec?: unknown } }
}
interface Scenario {
  name: string
  steps: Step[]
}
const recordings = (file: string): Scenario[] =>
  JSON.parse(readFileSync(new URL(`../../golden/api/${file}.json`, import.meta.url), 'utf8')) as Scenario[]

/** Refusals by an admission plugin, the decoder or the registry: tested where they are made. */
const notOurs = /forbidden|cannot be handled|does not match the namespace|should not be set/

t.test('refusals and acceptances of a real server, creation', async (t) => {
  let compared = 0
  for (const { name, steps } of [...recordings('pod-validation'), ...recordings('kind-validation')]) {
    const [step] = steps
    const definition = resources.find(({ plural, group }) => {
      const prefix = group === '' ? '/api/v1/' : `/apis/${group}/`
      return step?.path.startsWith(prefix) && step.path.split('?')[0]?.endsWith(`/${plural}`)
    })
    const { status, body: answer } = step?.answer ?? {}
    if (!definition || step?.method !== 'POST' || (status !== 201 && status !== 422)) continue
    const recorded = answer?.message ?? ''
    if (notOurs.test(recorded) || /allocat|range of valid|not configured/.test(recorded)) continue
    const body = JSON.parse(JSON.stringify(step.body).replaceAll('{{ns}}', NAMESPACE))
    const { errors } = create(definition, body)
    const all = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`
    const group = definition.conversion?.storageGroup ?? definition.group
    const subject = group ? `${definition.kind}.${group}` : definition.kind
    const message = `${subject} "${body.metadata?.name ?? ''}" is invalid: ${all}`
    t.equal(errors.length > 0 ? message : '', recorded.replaceAll('{{ns}}', NAMESPACE).replaceAll('<uid:1>', UID), name)
    compared++
  }
  t.ok(compared > 240, `${compared} answers compared`)
})

const podWith = (preStop: object, more: object = {}) => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'a', image: 'x:1', lifecycle: { preStop }, ...more }] },
})
const exec = { exec: { command: ['true'] } }
const httpGet = { httpGet: { port: 80 } }

t.test('reasonDelivery: the rules of the proposal, and ours', async (t) => {
  const path = 'spec.containers[0].lifecycle.preStop.reasonDelivery'
  const cases: [preStop: object, errors: string[]][] = [
    [{ ...exec, reasonDelivery: { env: 'WHY' } }, []],
    [{ ...httpGet, reasonDelivery: { header: 'X-Why' } }, []],
    [{ ...exec, reasonDelivery: {} }, []],
    [{ ...exec, reasonDelivery: { header: 'X-Why' } }, [`${path}.header: Forbidden: may not be set for exec handlers`]],
    [{ ...httpGet, reasonDelivery: { env: 'WHY' } }, [`${path}.env: Forbidden: may not be set for httpGet handlers`]],
  ]
  for (const [preStop, errors] of cases) t.same(create(find('pods'), podWith(preStop)).errors, errors)
  const fieldsOf = (preStop: object) => create(find('pods'), podWith(preStop)).errors.map((text) => text.split(': ')[0])
  t.same(fieldsOf({ ...exec, reasonDelivery: { env: 'WHY', header: 'X' } }), [`${path}.header`, path])
  t.same(fieldsOf({ ...exec, reasonDelivery: { env: '1 2' } }), [`${path}.env`])
  t.same(fieldsOf({ ...httpGet, reasonDelivery: { header: 'a b' } }), [`${path}.header`])
  t.same(fieldsOf({ sleep: { seconds: 1 }, reasonDelivery: { env: 'WHY' } }), [path])
})

t.test('reasonDelivery: the four rules of the proposal, for each field absent, empty and set', async (t) => {
  const values = [undefined, '', 'A']
  for (const [kind, hook] of Object.entries({ exec, httpGet })) {
    for (const [env, header] of values.flatMap((env) => values.map((header) => [env, header] as const))) {
      const reasonDelivery = { ...(env !== undefined && { env }), ...(header !== undefined && { header }) }
      const forbidden = kind === 'exec' ? header : env
      const isRefused =
        forbidden !== undefined || (env !== undefined && header !== undefined) || env === '' || header === ''
      const { errors, object } = create(find('pods'), podWith({ ...hook, reasonDelivery }))
      const what = `${kind} with ${JSON.stringify(reasonDelivery)}`
      t.equal(errors.length > 0, isRefused, `${what} is ${isRefused ? 'refused' : 'accepted'}: ${errors}`)
      const { containers } = (object as unknown as Pod).spec
      t.same(containers[0]?.lifecycle?.preStop?.reasonDelivery, reasonDelivery, `${what} stays as it is`)
    }
  }
})

t.test('reasonDelivery: a header may not frame the request', async (t) => {
  const errorsOf = (header: string) =>
    create(find('pods'), podWith({ ...httpGet, reasonDelivery: { header } })).errors.map((text) => text.split(': ')[0])
  const names = 'Connection Content-Length Expect Host HTTP2-Settings Keep-Alive TE Trailer Transfer-Encoding Upgrade'
  for (const name of [...names.split(' '), 'Proxy-Authorization', 'Proxy-Connection', 'hOST', 'CONTENT-LENGTH']) {
    t.same(errorsOf(name), ['spec.containers[0].lifecycle.preStop.reasonDelivery.header'], name)
  }
  for (const name of ['X-Host', 'Content-Type', 'User-Agent', 'Proxied']) t.same(errorsOf(name), [], name)
})

t.test('fields behind a gate that is off vanish, unless they are in use', async (t) => {
  const pods = find('pods')
  const body = podWith(
    { ...exec, reasonDelivery: { env: 'WHY' } },
    {
      livenessProbe: { ...exec, terminationGracePeriodSeconds: 5 },
    },
  )
  const delivery = (object: KubeObject) =>
    (object as unknown as Pod).spec.containers[0]?.lifecycle?.preStop?.reasonDelivery
  const grace = (object: KubeObject) =>
    (object as unknown as Pod).spec.containers[0]?.livenessProbe?.terminationGracePeriodSeconds
  const off = create(pods, body, allOff).object
  t.equal(delivery(off), undefined)
  t.equal(grace(off), undefined)
  const on = create(pods, body).object
  t.same(delivery(on), { env: 'WHY' })
  t.equal(grace(on), 5)
  const update = structuredClone(on)
  pods.strategy.prepareForUpdate?.(update, on, { nowMs, featureGates: allOff, limits })
  t.same(delivery(update), { env: 'WHY' }, 'a stored object keeps what it has')
})

t.test('how long a pod may live on', async (t) => {
  const grace = (pod: object, gracePeriodSeconds?: number) =>
    find('pods').strategy.checkGracefulDelete?.(pod as KubeObject, { gracePeriodSeconds })
  const running = {
    metadata: { name: 'p' },
    spec: { nodeName: 'n', terminationGracePeriodSeconds: 30 },
    status: { phase: 'Running' },
  }
  t.equal(grace(running), 30)
  t.equal(grace(running, 5), 5)
  t.equal(grace(running, 0), 0)
  t.equal(grace(running, -5), 1)
  t.equal(grace({ ...running, status: { phase: 'Succeeded' } }, 5), 0)
  t.equal(grace({ ...running, spec: { terminationGracePeriodSeconds: 30 } }), 0)
})

t.test('what may change in a pod, and how a refusal shows it', async (t) => {
  const pods = find('pods')
  const { object: old } = create(pods, podWith(exec))
  const refusals = (change: (pod: Pod) => void): string[] => {
    const object = structuredClone(old)
    change(object as unknown as Pod)
    const errors: FieldErrors = []
    pods.strategy.validateUpdate?.(object, old, errors, { nowMs, featureGates: defaultFeatureGates, limits })
    return errors.map((error) => `${error.field}: ${errorBody(error)}`)
  }
  const container = (pod: Pod) => pod.spec.containers[0] as Pod['spec']['containers'][number]
  t.same(
    refusals((pod) => Object.assign(container(pod), { image: 'y:2' })),
    [],
  )
  t.same(
    refusals((pod) => Object.assign(pod.spec, { activeDeadlineSeconds: 5 })),
    [],
  )
  t.same(
    refusals((pod) => Object.assign(pod.spec, { containers: [] })).at(-1),
    'spec.containers: Forbidden: pod updates may not add or remove containers',
  )
  const [refusal = ''] = refusals((pod) => Object.assign(pod.spec, { hostname: 'h' }))
  t.match(refusal, 'spec: Forbidden: pod updates may not change fields other than')
  t.match(refusal, '\n- "Hostname": "",\n+ "Hostname": "h",\n  "Subdomain": "",\n')
})

t.test('cluster IPs and node ports', async (t) => {
  const services: Service[] = []
  let now = 0
  const addresses = createServiceAddresses({ cidr: '10.96.0.0/16', services: () => services, nowMs: () => now })
  const context: StrategyContext = {
    nowMs,
    featureGates: defaultFeatureGates,
    namespace: 'default',
    limits,
    serviceAddresses: addresses,
  }
  const begin = (spec: object, old?: Service): { spec: NonNullable<Service['spec']>; errors: string[] } => {
    const { object } = decodeObject(find('services'), { metadata: { name: 's' }, spec: structuredClone(spec) })
    find('services').strategy.applyDefaults?.(object, context)
    const errors: FieldErrors = []
    find('services').strategy.begin?.(object, old as unknown as KubeObject | undefined, errors, context)
    return {
      spec: (object as unknown as Service).spec ?? {},
      errors: errors.map(({ field, detail }) => `${field}: ${detail}`),
    }
  }
  const first = begin({ ports: [{ port: 80 }] }).spec
  t.match(first.clusterIP, /^10\.96\.\d+\.\d+$/)
  t.same(first.clusterIPs, [first.clusterIP])
  t.same([first.ipFamilies, first.ipFamilyPolicy], [['IPv4'], 'SingleStack'])
  t.not(begin({ ports: [{ port: 80 }] }).spec.clusterIP, first.clusterIP, 'nobody gets an address that was just given')
  services.push({
    metadata: { name: 'a' },
    spec: { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ port: 1, nodePort: 30_080 }] },
  })
  t.same(begin({ ports: [{ port: 80 }], clusterIP: '10.96.0.1' }).errors, [
    'spec.clusterIPs: failed to allocate IP 10.96.0.1: provided IP is already allocated',
  ])
  t.same(begin({ ports: [{ port: 80 }], clusterIP: '1.2.3.4' }).errors, [
    'spec.clusterIPs: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid range. The range of valid IPs is 10.96.0.0/16',
  ])
  t.same(begin({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }).errors, [
    'spec.ports[0].nodePort: provided port is already allocated',
  ])
  const external = begin({ type: 'ExternalName', externalName: 'x.y' }).spec
  t.equal(external.clusterIP, undefined)
  const kept = begin({ ports: [{ port: 81 }] }, { metadata: { name: 's' }, spec: first }).spec
  t.equal(kept.clusterIP, first.clusterIP, 'an update that names none keeps its address')
  now = 60_000
  t.same(begin({ ports: [{ port: 80 }], clusterIP: first.clusterIP }).errors, [], 'what nobody stored is free again')
})

t.test('durations in words', async (t) => {
  const second = 1000
  const words: [seconds: number, text: string][] = [
    [0, '0s'],
    [119, '119s'],
    [120, '2m'],
    [125, '2m5s'],
    [600, '10m'],
    [3 * 3600, '3h'],
    [3 * 3600 + 60, '3h1m'],
    [9 * 3600, '9h'],
    [49 * 3600, '2d1h'],
    [9 * 86400, '9d'],
    [800 * 86400, '2y70d'],
    [9 * 365 * 86400, '9y'],
    [-5, '<invalid>'],
  ]
  for (const [seconds, text] of words) t.equal(humanDuration(seconds * second), text)
})

t.test('unified diffs', async (t) => {
  const a = Array.from({ length: 20 }, (_, index) => `line ${index}`)
  const b = a.with(10, 'changed')
  t.equal(
    unifiedDiff(a, b),
    '@@ -8,7 +8,7 @@\n line 7\n line 8\n line 9\n-line 10\n+changed\n line 11\n line 12\n line 13\n',
  )
  t.equal(unifiedDiff(a, a), '')
  t.equal(unifiedDiff([], ['x']), '@@ -0,0 +1 @@\n+x\n')
})
