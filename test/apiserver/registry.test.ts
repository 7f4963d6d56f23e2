import t, { type Test } from 'tap'
import type { ResourceDefinition } from '../../apiserver/kind/resource-definition.ts'
import { Catalog } from '../../apiserver/registry/catalog.ts'
import { ObjectCaches } from '../../apiserver/registry/object-caches.ts'
import { Registry } from '../../apiserver/registry/registry.ts'
import { decodeStored, type StoredObject } from '../../apiserver/registry/stored-object.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { PackedText } from '../../apiserver/storage/packed-text.ts'
import { decodeObject } from '../../apiserver/validation/decoder.ts'
import { Recurring } from '../../apiserver/values/recurring.ts'
import { defaultWorkLimits } from '../../apiserver/work-limits.ts'
import type { DeleteOptions, KubeObject, Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { defaultFeatureGates, type FeatureGates } from '../../shared/config/feature-gates.ts'

const user = { name: 'tester', groups: [] }
const namespace = 'ns'

function setUp(gates: Partial<FeatureGates> = {}, storage = createMemoryStorage(), lastStateMs?: number) {
  const catalog = new Catalog(resources)
  const clock = createVirtualClock(Date.UTC(2026, 0, 1))
  const registry = new Registry({
    objects: new ObjectCaches({ catalog, storage }),
    clock,
    lastStateMs,
    featureGates: { ...defaultFeatureGates, ...gates },
    limits: defaultWorkLimits,
    random: () => 0.5,
  })
  const definitionOf = (plural: string): ResourceDefinition =>
    catalog.definitions().find((definition) => definition.plural === plural)!
  const warnings: string[] = []
  const options = { dryRun: false, fieldManager: 'tester', warn: (text: string) => void warnings.push(text) }
  const scopeOf = (plural: string, name = '', subresource?: string) => ({
    definition: definitionOf(plural),
    namespace: definitionOf(plural).namespaced ? namespace : undefined,
    name,
    subresource,
    user,
  })
  const decoded = (plural: string, body: object): KubeObject => {
    const scope = scopeOf(plural)
    const { object } = decodeObject(scope.definition, structuredClone(body))
    scope.definition.strategy.applyDefaults?.(object, registry.strategyContext(scope))
    return object
  }
  const events: string[] = []
  storage.watch({
    prefix: '/registry/',
    onEvents: (batch) => {
      for (const { type, key, previous } of batch) {
        events.push(`${type === 'delete' ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED'} ${key.split('/').at(-1)}`)
      }
    },
  })
  return {
    registry,
    clock,
    storage,
    warnings,
    events,
    create: (plural: string, body: object, more: object = {}) =>
      registry.create(scopeOf(plural), decoded(plural, body), { ...options, ...more }),
    update: async (
      plural: string,
      name: string,
      change: (object: KubeObject) => void,
      more: { subresource?: string } = {},
    ) => {
      const request = {
        uidIsPrecondition: true,
        createAbsent: 'if the kind allows it',
        transform: (current?: () => KubeObject) => {
          const object = current?.() ?? ({ metadata: { name } } as KubeObject)
          object.metadata.resourceVersion = undefined
          change(object)
          return object
        },
      } as const
      return (await registry.update(scopeOf(plural, name, more.subresource), request, options)).stored
    },
    delete: (plural: string, name: string, deleteOptions: DeleteOptions = {}, more: object = {}) =>
      registry.delete(scopeOf(plural, name), deleteOptions, { ...options, ...more }),
    get: (plural: string, name: string) => decodeStored(registry.get(scopeOf(plural, name))),
  }
}

const configMap = (name: string, more: object = {}) => ({ metadata: { name, ...more }, data: { a: 'b' } })
const pod = (more: object = {}, metadata: object = {}) => ({
  metadata: { name: 'p', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more },
})
const metadataOf = (stored: StoredObject) => decodeStored(stored).metadata

t.test('create', async (t) => {
  const { create, events, get, storage } = setUp()
  const stored = await create('configmaps', configMap('x', { uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z' }))
  const metadata = metadataOf(stored)
  t.ok(stored.value.startsWith('{"metadata":{"name":'), 'every value begins alike')
  t.notMatch(stored.value, /"resourceVersion"|"kind":"ConfigMap"/)
  t.match(metadata, { name: 'x', namespace, resourceVersion: '2', creationTimestamp: '2026-01-01T00:00:00Z' })
  t.match(metadata.uid, /^[0-9a-f-]{36}$/, 'a uid of the server, not of the client')
  t.same(get('configmaps', 'x').data, { a: 'b' })
  await t.rejects(create('configmaps', configMap('x')), { message: 'configmaps "x" already exists' })
  await t.rejects(create('configmaps', configMap('A_')), {
    message: /^ConfigMap "A_" is invalid: metadata.name: Invalid/,
  })
  await t.rejects(create('configmaps', configMap('y', { resourceVersion: '5' })), { message: /should not be set/ })
  await t.rejects(create('configmaps', configMap('y', { namespace: 'other' })), { message: /does not match/ })
  t.same(events, ['ADDED x'])
  const dry = await create('configmaps', configMap('dry'), { dryRun: true })
  t.equal(dry.revision, undefined)
  t.equal(storage.revision(), 2, 'a dry run writes nothing')
})

t.test('generated names: eight tries, then it is told', async (t) => {
  const { create, registry } = setUp()
  const first = await create('configmaps', { metadata: { generateName: 'g-' } })
  t.match(metadataOf(first).name, /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  await t.rejects(create('configmaps', { metadata: { generateName: 'g-' } }), {
    message: /^configmaps "g-.{5}" already exists, the server was not able to generate a unique name for the object$/,
  })
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  const { metadata, spec } = decodeStored(
    await create('jobs', { metadata: { generateName: 'j-' }, spec: { template } }),
  )
  t.match(spec, { template: { metadata: { labels: { 'job-name': metadata.name } } } }, 'what follows from the name')
  const long = await create('configmaps', { metadata: { generateName: 'x'.repeat(80) } })
  t.equal(metadataOf(long).name?.length, 63)
  t.equal(registry.random(), 0.5)
})

t.test('a job without labels has those of its template; labels that were given stay alone', async (t) => {
  const { create } = setUp()
  const containers = [{ name: 'c', image: 'i' }]
  const labelsOf = async (name: string, labels: object | undefined, template: object): Promise<string[]> => {
    const spec = { template: { metadata: { labels: template }, spec: { restartPolicy: 'Never', containers } } }
    return Object.keys(metadataOf(await create('jobs', { metadata: { name, labels }, spec })).labels ?? {})
  }
  const generated = ['batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name', 'controller-uid', 'job-name']
  t.same(await labelsOf('none', undefined, { app: 'a' }), ['app', ...generated])
  t.same(await labelsOf('empty', {}, {}), generated)
  t.same(await labelsOf('equal', { app: 'a' }, { app: 'a' }), ['app'])
  t.same(await labelsOf('others', { app: 'a' }, { app: 'b' }), ['app'])
})

t.test('update', async (t) => {
  const { create, update, events, storage } = setUp()
  await create('configmaps', configMap('x'))
  const same = await update('configmaps', 'x', (object) => {
    object.data = { a: 'b' }
  })
  t.equal(same.revision, 2)
  t.equal(storage.revision(), 2, 'what changes nothing is not written')
  const changed = await update('configmaps', 'x', (object) => {
    object.data = { a: 'c' }
    object.metadata.reason = 'mine'
  })
  t.equal(metadataOf(changed).reason, undefined, 'the reason is not for clients to set')
  await t.rejects(
    update('configmaps', 'x', (object) => {
      object.metadata.resourceVersion = '2'
    }),
    { message: /the object has been modified/ },
  )
  await t.rejects(
    update('configmaps', 'x', (object) => {
      object.metadata.uid = '11111111-1111-1111-1111-111111111111'
    }),
    { message: /StorageError: invalid object, Code: 4, Key: \/registry\/configmaps\/ns\/x/ },
  )
  await t.rejects(
    update('configmaps', 'none', () => {}),
    { message: 'configmaps "none" not found' },
  )
  t.equal((await update('leases', 'made', () => {})).revision, 4, 'a lease is made by PUT')
  await t.rejects(
    update('leases', 'made', () => {}),
    { message: /must be specified for an update/ },
  )
  t.same(events, ['ADDED x', 'MODIFIED x', 'ADDED made'])
})

t.test('the two halves of an object', async (t) => {
  const { create, update } = setUp()
  await create('pods', pod())
  const main = decodeStored(
    await update('pods', 'p', (object) => {
      object.status = { phase: 'Failed' }
      object.metadata.labels = { through: 'main' }
    }),
  ) as unknown as Pod
  t.equal(main.status?.phase, 'Pending')
  const status = decodeStored(
    await update(
      'pods',
      'p',
      (object) => {
        object.status = { ...(object.status as object), phase: 'Running' }
        ;(object as unknown as Pod).spec.nodeName = 'elsewhere'
      },
      { subresource: 'status' },
    ),
  ) as unknown as Pod
  t.equal(status.status?.phase, 'Running')
  t.equal(status.spec.nodeName, undefined)
  t.same(status.metadata.labels, { through: 'main' })
})

t.test('finalizers hold an object, and their end is its end', async (t) => {
  const { create, update, delete: remove, events, get } = setUp()
  await create('configmaps', configMap('x', { finalizers: ['example.com/f'] }))
  const { removed, stored } = await remove('configmaps', 'x', { reason: 'Update' })
  t.notOk(removed)
  t.match(metadataOf(stored), {
    deletionTimestamp: '2026-01-01T00:00:00Z',
    deletionGracePeriodSeconds: 0,
    reason: 'Update',
  })
  t.equal((await remove('configmaps', 'x')).stored.revision, 3, 'a second DELETE changes nothing')
  await t.rejects(
    update('configmaps', 'x', (object) => object.metadata.finalizers!.push('example.com/more')),
    { message: /no new finalizers can be added/ },
  )
  await update('configmaps', 'x', (object) => {
    object.metadata.finalizers = []
  })
  t.throws(() => get('configmaps', 'x'), new Error('configmaps "x" not found'))
  t.same(events, ['ADDED x', 'MODIFIED x', 'DELETED x'])
})

t.test('graceful delete of a pod', async (t) => {
  const scheduled = async (t: Test, more: object = {}, metadata: object = {}) => {
    const tools = setUp()
    await tools.create('pods', pod({ nodeName: 'n', ...more }, metadata))
    t.equal(tools.events.length, 1)
    return tools
  }
  const state = ({ stored, removed }: { stored: StoredObject; removed: boolean }) => {
    const { deletionTimestamp, deletionGracePeriodSeconds, generation, reason } = metadataOf(stored)
    return [removed, deletionTimestamp?.slice(11, 19), deletionGracePeriodSeconds, generation, reason]
  }

  t.test('not scheduled: at once, and still written first', async (t) => {
    const { create, delete: remove, events } = setUp()
    await create('pods', pod())
    t.same(
      state(await remove('pods', 'p', { gracePeriodSeconds: 30 })),
      [true, '00:00:00', 0, 2, undefined],
      'no grace',
    )
    t.same(events, ['ADDED p', 'MODIFIED p', 'DELETED p'])
  })
  t.test('not scheduled: readers see its last state for as long as the server is told to show it', async (t) => {
    const { create, delete: remove, events, get, clock } = setUp({}, createMemoryStorage(), 2)
    await create('pods', pod())
    const deletion = remove('pods', 'p', {})
    await clock.advance(1)
    t.same(events, ['ADDED p', 'MODIFIED p'])
    t.match(get('pods', 'p').metadata, { deletionGracePeriodSeconds: 0 })
    const other = await remove('pods', 'p', {})
    t.equal(other.removed, true, 'another may remove it meanwhile')
    await clock.advance(1)
    t.same(state(await deletion), [true, '00:00:00', 0, 2, undefined], 'and both have their answer')
    t.same(events, ['ADDED p', 'MODIFIED p', 'DELETED p'])
  })
  t.test('the pod’s own grace, the reason in the same write', async (t) => {
    const { delete: remove, events } = await scheduled(t, { terminationGracePeriodSeconds: 45 })
    t.same(
      state(await remove('pods', 'p', { reason: 'Update' })),
      [false, '00:00:45', 45, 2, 'Update'],
      'deletionTimestamp, grace and reason',
    )
    t.same(events, ['ADDED p', 'MODIFIED p'], 'in one write')
  })
  t.test('later ones may only shorten; a reason given replaces, none given keeps', async (t) => {
    const { delete: remove, clock, storage } = await scheduled(t)
    await remove('pods', 'p', { gracePeriodSeconds: 20, reason: 'Update' })
    await clock.advance(5000)
    const before = storage.revision()
    t.same(state(await remove('pods', 'p')), [false, '00:00:20', 20, 2, 'Update'])
    t.same(state(await remove('pods', 'p', { gracePeriodSeconds: 60 })), [false, '00:00:20', 20, 2, 'Update'])
    t.equal(storage.revision(), before, 'nothing new, nothing written')
    t.same(
      state(await remove('pods', 'p', { gracePeriodSeconds: 10 })),
      [false, '00:00:10', 10, 2, 'Update'],
      'shortened',
    )
    t.same(state(await remove('pods', 'p', { reason: 'Eviction' })), [false, '00:00:10', 10, 2, 'Eviction'])
    t.same(state(await remove('pods', 'p', { gracePeriodSeconds: 2 })), [false, '00:00:05', 1, 2, 'Eviction'])
    t.same(state(await remove('pods', 'p', { gracePeriodSeconds: 0 })), [true, '00:00:05', 0, 2, 'Eviction'])
  })
  t.test('a negative grace is one second', async (t) => {
    const { delete: remove } = await scheduled(t)
    t.same(
      state(await remove('pods', 'p', { gracePeriodSeconds: -5 })),
      [false, '00:00:01', 1, 2, undefined],
      'one second',
    )
  })
  t.test('a dry run tells and does nothing', async (t) => {
    const { delete: remove, get, events } = await scheduled(t)
    t.same(state(await remove('pods', 'p', { reason: 'Update' }, { dryRun: true })), [
      false,
      '00:00:30',
      30,
      2,
      'Update',
    ])
    t.equal(get('pods', 'p').metadata.deletionTimestamp, undefined)
    t.equal(events.length, 1)
  })
  t.test('preconditions', async (t) => {
    const { delete: remove } = await scheduled(t)
    await t.rejects(remove('pods', 'p', { preconditions: { uid: 'other' } }), {
      message: /^Operation cannot be fulfilled on Pod "p": the UID in the precondition \(other\) does not match/,
    })
    await t.rejects(remove('pods', 'p', { preconditions: { resourceVersion: '1' } }), {
      message: /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(2\)/,
    })
  })
  t.test('the annotation is the last and weakest to give a reason', async (t) => {
    const annotations = { 'kubestage.dev/termination-reason': 'Decommissioned' }
    const { delete: remove } = await scheduled(t, {}, { annotations })
    t.equal(state(await remove('pods', 'p')).at(-1), 'Decommissioned')
    t.equal(state(await remove('pods', 'p', { reason: 'Update' })).at(-1), 'Update')
    t.equal(state(await remove('pods', 'p')).at(-1), 'Update')
  })
  t.test('with the gate off there is no reason', async (t) => {
    const { create, delete: remove } = setUp({ PodTerminationReason: false })
    await create('pods', pod({ nodeName: 'n' }))
    t.equal(state(await remove('pods', 'p', { reason: 'Update' })).at(-1), undefined)
  })
})

t.test('what goes at once carries its reason into the last event', async (t) => {
  const { create, delete: remove, registry, events } = setUp()
  await create('configmaps', configMap('x'))
  const { stored, removed } = await remove('configmaps', 'x', { reason: 'resolve issue 354961' })
  t.ok(removed)
  t.equal(metadataOf(stored).reason, 'resolve issue 354961')
  t.same(events, ['ADDED x', 'DELETED x'])
  const cache = registry.cacheOf(resources.find(({ plural }) => plural === 'configmaps')!)
  const { last } = cache.eventsAfter(2)[0]!
  t.equal(JSON.parse(last!.value).metadata.reason, 'resolve issue 354961')
})

t.test('propagation policies are finalizers', async (t) => {
  const after = async (options: DeleteOptions, finalizers?: string[]) => {
    const { create, delete: remove } = setUp()
    await create('configmaps', configMap('x', { finalizers }))
    return metadataOf((await remove('configmaps', 'x', options)).stored).finalizers
  }
  t.same(await after({ propagationPolicy: 'Orphan' }), ['orphan'])
  t.same(await after({ orphanDependents: true }), ['orphan'])
  t.same(await after({ propagationPolicy: 'Foreground' }, ['example.com/f']), ['example.com/f', 'foregroundDeletion'])
  t.same(await after({ propagationPolicy: 'Background' }, ['foregroundDeletion', 'example.com/f']), ['example.com/f'])
  t.same(await after({}, ['orphan']), ['orphan'], 'what is there already counts')
  t.same(await after({}), undefined)
})

t.test('a namespace is marked first, and goes when nothing holds it', async (t) => {
  const { create, delete: remove, update, get } = setUp()
  await create('namespaces', { metadata: { name: 'team' } })
  const { stored } = await remove('namespaces', 'team', { reason: 'Decommissioned' })
  t.match(decodeStored(stored), {
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', reason: 'Decommissioned' },
    status: { phase: 'Terminating' },
  })
  t.notOk((await remove('namespaces', 'team')).removed)
  t.equal(get('namespaces', 'team').metadata.deletionGracePeriodSeconds, undefined)
  await update(
    'namespaces',
    'team',
    (object) => {
      object.spec = { finalizers: [] }
    },
    { subresource: 'finalize' },
  )
  t.throws(() => get('namespaces', 'team'), new Error('namespaces "team" not found'))
})

t.test('lifecycle.stopSignal, and servers with its gate off, on and off again over one store', async (t) => {
  const storage = createMemoryStorage()
  const server = async (enabled: boolean) => {
    const stage = setUp({ ContainerStopSignals: enabled }, storage)
    await stage.registry.objects.load()
    return stage
  }
  const spec = () => ({
    os: { name: 'linux' },
    containers: [{ name: 'c', image: 'i', lifecycle: { stopSignal: 'SIGUSR1' } }],
  })
  type Stage = Awaited<ReturnType<typeof server>>
  const lifecycleOf = ({ get }: Stage, name: string) =>
    (get('pods', name) as unknown as Pod).spec.containers[0]?.lifecycle
  const off = await server(false)
  await off.create('pods', pod(spec()))
  t.equal(lifecycleOf(off, 'p'), undefined, 'dropped, and what was left of its parent')
  const on = await server(true)
  await on.create('pods', pod(spec(), { name: 'kept' }))
  t.same(lifecycleOf(on, 'kept'), { stopSignal: 'SIGUSR1' })
  const offAgain = await server(false)
  await offAgain.update('pods', 'kept', (object) => {
    object.metadata.labels = { touched: 'yes' }
  })
  t.same(lifecycleOf(offAgain, 'kept'), { stopSignal: 'SIGUSR1' }, 'kept by an update of what has it')
})

t.test("a probe's own grace period, and servers with its gate on, off and on again over one store", async (t) => {
  const storage = createMemoryStorage()
  const server = async (enabled: boolean) => {
    const stage = setUp({ ProbeTerminationGracePeriod: enabled }, storage)
    await stage.registry.objects.load()
    return stage
  }
  const livenessProbe = { exec: { command: ['true'] }, terminationGracePeriodSeconds: 60 }
  const template = () => ({ containers: [{ name: 'c', image: 'i', livenessProbe }] })
  const deployment = (name: string, spec: object) => ({
    metadata: { name },
    spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec } },
  })
  type Stage = Awaited<ReturnType<typeof server>>
  const graceOf = ({ get }: Stage, plural: string, name: string): number | undefined => {
    const { spec } = get(plural, name) as unknown as { spec: Pod['spec'] & { template?: { spec: Pod['spec'] } } }
    return (spec.template?.spec ?? spec).containers[0]?.livenessProbe?.terminationGracePeriodSeconds
  }

  const on = await server(true)
  await on.create('pods', pod(template()))
  await on.create('deployments', deployment('d', template()))
  t.equal(graceOf(on, 'pods', 'p'), 60)

  const off = await server(false)
  t.equal(graceOf(off, 'pods', 'p'), 60, 'what is stored is still served')
  await off.create('pods', pod(template(), { name: 'new' }))
  t.equal(graceOf(off, 'pods', 'new'), undefined, 'dropped from what is new')
  const label = (object: KubeObject): void => {
    object.metadata.labels = { touched: 'yes' }
  }
  await off.update('pods', 'p', label)
  await off.update('deployments', 'd', label)
  t.equal(graceOf(off, 'pods', 'p'), 60, 'kept by an update of what has it')
  t.equal(graceOf(off, 'deployments', 'd'), 60)
  const probed = (seconds?: number) => (object: KubeObject) => {
    const { template } = (object as unknown as { spec: { template: { spec: Pod['spec'] } } }).spec
    const container = template.spec.containers[0]!
    container.livenessProbe ??= {
      exec: { command: ['true'] },
      successThreshold: 1,
      failureThreshold: 3,
      timeoutSeconds: 1,
    }
    if (seconds === undefined) delete container.livenessProbe.terminationGracePeriodSeconds
    else container.livenessProbe.terminationGracePeriodSeconds = seconds
  }
  await off.update('deployments', 'd', probed(90))
  t.equal(graceOf(off, 'deployments', 'd'), 90, 'and may change where it is in use')
  await off.create('deployments', deployment('bare', { containers: [{ name: 'c', image: 'i' }] }))
  await off.update('deployments', 'bare', probed(90))
  t.equal(graceOf(off, 'deployments', 'bare'), undefined, 'an update cannot bring it in')
  await off.update('deployments', 'd', probed())
  await off.update('deployments', 'd', probed(90))
  t.equal(graceOf(off, 'deployments', 'd'), undefined, 'nor back, once it is unset')

  const again = await server(true)
  t.equal(graceOf(again, 'pods', 'p'), 60, 'there again as it was')
  await again.update('deployments', 'bare', probed(90))
  t.equal(graceOf(again, 'deployments', 'bare'), 90, 'and may be set again')
  const readiness = { readinessProbe: livenessProbe }
  await t.rejects(again.create('pods', pod({ containers: [{ name: 'c', image: 'i', ...readiness }] }, { name: 'r' })), {
    message: /readinessProbe.terminationGracePeriodSeconds: Invalid value: 60: must not be set for readinessProbes/,
  })
  for (const seconds of [0, -1]) {
    const startupProbe = { ...livenessProbe, terminationGracePeriodSeconds: seconds }
    const refused = pod({ containers: [{ name: 'c', image: 'i', startupProbe }] }, { name: 's' })
    await t.rejects(again.create('pods', refused), { message: /must be greater than 0/ }, `${seconds}`)
  }
})

t.test('pods of one template', async (t: Test) => {
  const { create, update, get, warnings } = setUp()
  const pod = (name: string, container: object = {}) => ({
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i', ...container }] },
  })
  const env = [
    { name: 'TWICE', value: '1' },
    { name: 'TWICE', value: '2' },
  ]
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) {
    await create('pods', pod(name))
    await create('pods', pod(`warned-${name}`, { env }))
    await t.rejects(create('pods', pod(`wrong-${name}`, { env: [{ value: 'nameless' }] })), { code: 422 })
  }
  t.equal(warnings.length, names.length, 'each is warned of anew')
  const [first, ...others] = names.map((name) => get('pods', name).spec)
  for (const other of others) t.same(other, first)

  await update('pods', 'c', (object) => {
    ;(object as unknown as Pod).spec.containers[0]!.image = 'other'
  })
  t.equal((get('pods', 'c') as unknown as Pod).spec.containers[0]!.image, 'other')
  t.same(get('pods', 'd').spec, first, 'a change of one is none of the others')

  const requests = { cpu: '1', constructor: '1' }
  await t.rejects(create('pods', pod('e', { resources: { requests } })), { code: 422 })
  await create('pods', pod('f', { resources: { requests: { cpu: '1' } } }))
  await create('pods', pod('g', { resources: { requests: { cpu: '1' } } }))
  await t.rejects(create('pods', pod('h', { resources: { requests } })), { code: 422 }, 'one name more is a difference')
})

t.test('an object that is kept in parts says the same as its text', async (t: Test) => {
  const set = (name: string) => ({
    [`f:${name}`]: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f:${i}`, {}])),
  })
  const entry = (manager: string, name: string, more: object = {}) => ({
    manager,
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: set(name),
    ...more,
  })
  const managedFields = [
    entry('one', 'data'),
    entry('two', 'spec'),
    entry('three', 'status', { subresource: 'status' }),
  ]
  const inner = { metadata: { name: 'inner', managedFields }, spec: {} }
  const spec = { args: Array.from({ length: 100 }, (_, i) => `argument ${i}`) }
  const objects = [
    { metadata: { name: 'a', managedFields }, spec, status: { phase: 'Running' } },
    { metadata: { name: 'b', managedFields: [managedFields[2], managedFields[0]] }, data: { x: 'y' } },
    { metadata: { name: 'c', managedFields: [managedFields[1]] }, data: inner },
    { metadata: { name: 'd' }, data: inner, spec },
    { metadata: { name: 'e', annotations: { last: JSON.stringify(inner) }, managedFields }, status: {} },
    { metadata: { name: 'f', managedFields: [{ ...managedFields[0], fieldsV1: { '.': {} } }] }, spec },
  ]
  for (const object of [...objects, ...objects]) {
    const value = JSON.stringify(object)
    const { parts } = new PackedText(value)
    const decoded = decodeStored({ value, parts, revision: undefined })
    t.same(decoded, object, object.metadata.name)
    t.equal(JSON.stringify(decoded), value)
  }
})

t.test('what recurs is held once, unless it is large', async (t) => {
  const held = new Recurring<{ items: number[] }>()
  const make = (size: number) => ({ items: Array.from({ length: size }, (_, index) => index) })
  held.of(make(10))
  t.equal(held.of(make(10)), held.of(make(10)))
  held.of(make(10_000))
  t.not(held.of(make(10_000)), held.of(make(10_000)))
})
