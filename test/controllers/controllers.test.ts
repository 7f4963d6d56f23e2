import t from 'tap'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type {
  ConfigMap,
  Event,
  KubeObject,
  Lease,
  Namespace,
  Node,
  ObjectMeta,
  Pod,
  Secret,
} from '../../shared/api/types.ts'
import type { ObjectRef, Resource } from '../../shared/client/client.ts'
import {
  configMaps,
  events,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  pods,
  resourceQuotas,
  secrets,
  serviceAccounts,
  services,
  terminations,
  volumeAttributesClasses,
} from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'

const plane = await startTestControlPlane(t, { scheduler: true })
const { client } = plane

/** The value that `look` gives once it satisfies `until`. */
async function eventually<T>(look: () => Promise<T>, until: (value: T) => boolean): Promise<T> {
  for (const deadlineMs = realClock.monotonic() + 60_000; ; await realClock.sleep(5)) {
    const value = await look()
    if (until(value) || realClock.monotonic() > deadlineMs) return value
  }
}
async function find<T extends object>(resource: Resource, ref: ObjectRef): Promise<T | undefined> {
  try {
    return await client.get<T>(resource, ref)
  } catch (error) {
    if (isStatus(error, 'NotFound')) return undefined
    throw error
  }
}
const appears = <T extends object>(resource: Resource, ref: ObjectRef) =>
  eventually(
    () => find<T>(resource, ref),
    (object) => object !== undefined,
  )
const disappears = (resource: Resource, ref: ObjectRef) =>
  eventually(
    () => find(resource, ref),
    (object) => object === undefined,
  )

let count = 0
async function newNamespace(): Promise<string> {
  const name = `ns-${++count}`
  await client.create<Namespace>(namespaces, { metadata: { name } })
  await appears(serviceAccounts, { namespace: name, name: 'default' })
  return name
}
const podOf = (namespace: string, name: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { namespace, name },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 7,
    containers: [{ name: 'c', image: 'busybox' }],
    ...spec,
  },
})
async function addNode(name: string, spec: Node['spec'] = {}): Promise<void> {
  await client.create<Node>(nodes, { metadata: { name }, spec })
  const now = new Date(realClock.now()).toISOString().replace(/\.\d+Z/, 'Z')
  const ready = {
    type: 'Ready',
    status: 'True',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    reason: 'KubeletReady',
    message: '',
  }
  const capacity = { cpu: '2', memory: '4Gi', pods: '3' }
  await client.patch(
    nodes,
    { name },
    { status: { capacity, allocatable: capacity, conditions: [ready] } },
    { subresource: 'status' },
  )
}

t.test('a cluster has its system namespaces, its Service, and in each namespace an account and the CA', async (t) => {
  const { items } = await client.list<Namespace>(namespaces)
  t.same(items.map(({ metadata }) => metadata.name).sort(), [
    'default',
    'kube-node-lease',
    'kube-public',
    'kube-system',
  ])
  const service = await client.get<KubeObject>(services, { namespace: 'default', name: 'kubernetes' })
  t.match(service, { spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: plane.port }] } })
  const namespace = await newNamespace()
  const rootCa = { namespace, name: 'kube-root-ca.crt' }
  t.equal((await appears<ConfigMap>(configMaps, rootCa))?.data?.['ca.crt'], plane.ca.cert)
  const account = { namespace, name: 'default' }
  const before = await client.get<KubeObject>(serviceAccounts, account)
  await client.delete(serviceAccounts, account)
  const uid = before.metadata.uid
  await eventually(
    () => find<KubeObject>(serviceAccounts, account),
    (after) => after !== undefined && after.metadata.uid !== uid,
  )
  await client.patch(configMaps, rootCa, { data: { 'ca.crt': 'bent', more: 'x' } })
  const mended = await eventually(
    () => client.get<ConfigMap>(configMaps, rootCa),
    ({ data }) => data?.['ca.crt'] !== 'bent',
  )
  t.same(mended.data, { 'ca.crt': plane.ca.cert })
})

t.test('a namespace takes its content along, with the reason, and waits for what is held', async (t) => {
  const namespace = await newNamespace()
  await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'a' } })
  await client.create<Secret>(secrets, { metadata: { namespace, name: 'held', finalizers: ['example.com/f'] } })
  await client.create(terminations, { metadata: { name: 'web.1' }, podName: 'web' }, { namespace })
  await client.delete(namespaces, { name: namespace }, { reason: 'Update' })
  await disappears(configMaps, { namespace, name: 'a' })
  const held = await eventually(
    () => client.get<KubeObject>(secrets, { namespace, name: 'held' }),
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
  )
  t.equal(held.metadata.reason, 'Update')
  const said = await eventually(
    () => client.get<Namespace>(namespaces, { name: namespace }),
    ({ status }) => status?.conditions !== undefined,
  )
  const conditions = Object.fromEntries(
    (said.status?.conditions ?? []).map((one) => [one.type, `${one.status} ${one.reason} ${one.message}`]),
  )
  t.same(conditions, {
    NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered All resources successfully discovered',
    NamespaceDeletionGroupVersionParsingFailure: 'False ParsedGroupVersions All legacy kube types successfully parsed',
    NamespaceDeletionContentFailure:
      'False ContentDeleted All content successfully deleted, may be waiting on finalization',
    NamespaceContentRemaining:
      'True SomeResourcesRemain Some resources are remaining: secrets. has 1 resource instances',
    NamespaceFinalizersRemaining:
      'True SomeFinalizersRemain Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances',
  })
  await client.patch(secrets, { namespace, name: 'held' }, { metadata: { finalizers: null } })
  t.equal(await disappears(namespaces, { name: namespace }), undefined)
  const ref = { namespace, name: 'web.1' }
  t.match(await client.get(terminations, ref), { podName: 'web' }, 'what tells how its pods ended stays')
  const later = { metadata: { name: 'web.2' }, podName: 'web' }
  t.match(await client.create(terminations, later, { namespace }), later, 'and may come later than its end')
})

t.test('owners and dependents: background, foreground, orphan, and why', async (t) => {
  const namespace = await newNamespace()
  const keep = ['example.com/keep']
  async function family(owner: string, reference: object = {}): Promise<ObjectRef> {
    const { metadata } = await client.create<Secret>(secrets, { metadata: { namespace, name: owner } })
    const { uid = '' } = metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name: owner, uid, ...reference }]
    const name = `${owner}-child`
    await client.create<Lease>(leases, { metadata: { namespace, name, finalizers: keep, ownerReferences } })
    return { namespace, name }
  }
  const terminating = (ref: ObjectRef) =>
    eventually(
      () => client.get<Lease>(leases, ref),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    )
  const release = (ref: ObjectRef) => client.patch(leases, ref, { metadata: { finalizers: null } })

  const background = await family('background')
  await client.delete(
    secrets,
    { namespace, name: 'background' },
    { propagationPolicy: 'Background', reason: 'Decommissioned' },
  )
  t.equal((await terminating(background)).metadata.reason, 'Decommissioned')

  const foreground = await family('foreground', { blockOwnerDeletion: true })
  await client.delete(secrets, { namespace, name: 'foreground' }, { propagationPolicy: 'Foreground', reason: 'Update' })
  t.equal((await terminating(foreground)).metadata.reason, 'Update')
  t.ok(await find(secrets, { namespace, name: 'foreground' }), 'the owner waits for its blocking dependent')
  await release(foreground)
  t.equal(await disappears(secrets, { namespace, name: 'foreground' }), undefined)

  const orphan = await family('orphan')
  await client.delete(secrets, { namespace, name: 'orphan' }, { propagationPolicy: 'Orphan' })
  t.equal(await disappears(secrets, { namespace, name: 'orphan' }), undefined)
  const { metadata } = await client.get<Lease>(leases, orphan)
  t.same([metadata.ownerReferences, metadata.deletionTimestamp], [undefined, undefined])

  const late: ObjectMeta = { namespace, name: 'late', finalizers: keep }
  const nobody = { apiVersion: 'v1', kind: 'Secret', name: 'nobody', uid: 'no-such-uid' }
  await client.create<Lease>(leases, { metadata: { ...late, ownerReferences: [nobody] } })
  t.ok(
    (await terminating({ namespace, name: 'late' })).metadata.deletionTimestamp,
    'a dependent of nobody is collected',
  )

  const { metadata: alive } = await client.create<Secret>(secrets, { metadata: { namespace, name: 'alive' } })
  const living = { apiVersion: 'v1', kind: 'Secret', name: 'alive', uid: alive.uid ?? '' }
  await client.create<Lease>(leases, { metadata: { namespace, name: 'half', ownerReferences: [nobody, living] } })
  const half = await eventually(
    () => client.get<Lease>(leases, { namespace, name: 'half' }),
    ({ metadata }) => metadata.ownerReferences?.length === 1,
  )
  t.same(half.metadata.ownerReferences, [living], 'with one owner alive only the reference to the other goes')
  for (const ref of [background, orphan, { namespace, name: 'late' }]) await release(ref)
})

/** Secrets of which each is owned by the one before, and blocks it. */
async function circleOf(size: number, { namespace, name }: ObjectRef): Promise<ObjectRef[]> {
  const members = Array.from({ length: size }, (_, index) => ({ namespace, name: `${name}-${index}` }))
  const uids: string[] = []
  for (const metadata of members) uids.push((await client.create<Secret>(secrets, { metadata })).metadata.uid ?? '')
  for (const [index, member] of members.entries()) {
    const owner = (index + size - 1) % size
    const reference = { apiVersion: 'v1', kind: 'Secret', name: members[owner]!.name, uid: uids[owner] }
    const ownerReferences = [{ ...reference, blockOwnerDeletion: true }]
    await client.patch(secrets, member, { metadata: { ownerReferences } })
  }
  return members
}
const deleteAtOnce = (members: readonly ObjectRef[]): Promise<unknown> =>
  Promise.all(members.map((member) => client.delete(secrets, member, { propagationPolicy: 'Foreground' })))

t.test('a circle of owners that block each other goes in the foreground, from whichever members on', async (t) => {
  const namespace = await newNamespace()
  for (const [size, chosen] of [
    [2, [0]],
    [3, [0]],
    [3, [0, 1]],
    [3, [0, 2]],
    [5, [0]],
    [5, [0, 2]],
    [5, [0, 1, 3]],
    [5, [1, 2, 3, 4]],
  ] as const) {
    const name = `circle-of-${size}-from-${chosen.join('-')}`
    const members = await circleOf(size, { namespace, name })
    await deleteAtOnce(chosen.map((index) => members[index]!))
    for (const member of members) t.equal(await disappears(secrets, member), undefined, member.name)
  }
})

t.test('a circle whose members are all deleted at once waits until one lets go, as on a real server', async (t) => {
  const namespace = await newNamespace()
  const members = await circleOf(3, { namespace, name: 'whole' })
  await deleteAtOnce(members)
  const other = await circleOf(3, { namespace, name: 'other' })
  await deleteAtOnce(other.slice(0, 1))
  for (const member of other) await disappears(secrets, member)
  for (const member of members) {
    const { metadata } = await client.get<Secret>(secrets, member)
    t.same(metadata.finalizers, ['foregroundDeletion'], `${member.name} waits`)
  }
  const { metadata } = await client.get<Secret>(secrets, members[0]!)
  const [reference] = metadata.ownerReferences ?? []
  const ownerReferences = [{ ...reference, blockOwnerDeletion: false }]
  await client.patch(secrets, members[0]!, { metadata: { ownerReferences } })
  for (const member of members) t.equal(await disappears(secrets, member), undefined, member.name)
})

t.test('an owner goes when what blocked it lets go', async (t) => {
  const namespace = await newNamespace()
  const owner = { namespace, name: 'owner' }
  const { uid = '' } = (await client.create<Secret>(secrets, { metadata: owner })).metadata
  const reference = { apiVersion: 'v1', kind: 'Secret', name: 'owner', uid }
  const child = { namespace, name: 'child' }
  const blocking = [{ ...reference, blockOwnerDeletion: true }]
  await client.create<Lease>(leases, {
    metadata: { ...child, finalizers: ['example.com/keep'], ownerReferences: blocking },
  })
  await client.delete(secrets, owner, { propagationPolicy: 'Foreground' })
  await eventually(
    () => client.get<Lease>(leases, child),
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
  )
  await client.patch(leases, child, { metadata: { ownerReferences: [{ ...reference, blockOwnerDeletion: false }] } })
  t.equal(await disappears(secrets, owner), undefined)
  await client.patch(leases, child, { metadata: { finalizers: null } })
})

t.test('pods are bound, or told why not, and tried again when the cluster changes', async (t) => {
  const namespace = await newNamespace()
  const get = (name: string) => client.get<Pod>(pods, { namespace, name })
  const scheduled = (pod: Pod) => pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  const eventsOf = async (name: string) => {
    const fieldSelector = `involvedObject.name=${name}`
    const { items } = await client.list<Event>(events, { namespace, fieldSelector })
    return items.map(
      ({ reason, message, action, reportingComponent }) => `${reportingComponent} ${action} ${reason}: ${message}`,
    )
  }
  await client.create<Pod>(pods, podOf(namespace, 'early'))
  const early = await eventually(
    () => get('early'),
    (pod) => scheduled(pod) !== undefined,
  )
  t.match(scheduled(early), {
    status: 'False',
    reason: 'Unschedulable',
    message: 'no nodes available to schedule pods',
    observedGeneration: 1,
  })

  await addNode('n1', { taints: [{ key: 'k', effect: 'NoSchedule' }] })
  const message =
    '0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.'
  await eventually(
    () => get('early'),
    (pod) => scheduled(pod)?.message === message,
  )
  await client.patch(nodes, { name: 'n1' }, { spec: { taints: null } })
  const bound = await eventually(
    () => get('early'),
    ({ spec }) => spec.nodeName !== undefined,
  )
  t.equal(bound.spec.nodeName, 'n1')
  t.equal(scheduled(bound)?.status, 'True')
  t.same(
    await eventually(
      () => eventsOf('early'),
      (all) => all.length === 3,
    ),
    [
      'default-scheduler Scheduling FailedScheduling: no nodes available to schedule pods',
      `default-scheduler Scheduling FailedScheduling: ${message}`,
      `default-scheduler Binding Scheduled: Successfully assigned ${namespace}/early to n1`,
    ],
  )

  for (const name of ['second', 'third', 'fourth']) {
    await client.create<Pod>(pods, podOf(namespace, name))
    await eventually(
      () => get(name),
      (pod) => scheduled(pod) !== undefined,
    )
  }
  t.match(scheduled(await get('fourth')), { message: /^0\/1 nodes are available: 1 Too many pods\./ })
  await client.delete(pods, { namespace, name: 'second' }, { gracePeriodSeconds: 0 })
  t.equal(
    (
      await eventually(
        () => get('fourth'),
        ({ spec }) => spec.nodeName !== undefined,
      )
    ).spec.nodeName,
    'n1',
  )

  const other = await client.create<Pod>(pods, podOf(namespace, 'other', { schedulerName: 'someone-else' }))
  t.equal(scheduled(other), undefined)
  for (const name of ['early', 'third', 'fourth', 'other'])
    await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 })
})

t.test('a NoExecute taint drives pods away, for that reason', async (t) => {
  const namespace = await newNamespace()
  const tolerations = (tolerationSeconds?: number) => [
    { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds },
  ]
  await client.create<Pod>(pods, podOf(namespace, 'leaves', { nodeName: 'n1' }))
  await client.create<Pod>(pods, podOf(namespace, 'leaves-soon', { nodeName: 'n1', tolerations: tolerations(1) }))
  await client.create<Pod>(pods, podOf(namespace, 'stays', { nodeName: 'n1', tolerations: tolerations() }))
  await client.patch(nodes, { name: 'n1' }, { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } })
  const terminating = (name: string) =>
    eventually(
      () => client.get<Pod>(pods, { namespace, name }),
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    )
  for (const name of ['leaves', 'leaves-soon']) {
    const { metadata, status } = await terminating(name)
    t.equal(metadata.reason, 'IntolerableTaint')
    t.equal(metadata.deletionGracePeriodSeconds, 7)
    t.match(
      status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
      { status: 'True', reason: 'DeletionByTaintManager' },
    )
  }
  t.equal((await client.get<Pod>(pods, { namespace, name: 'stays' })).metadata.deletionTimestamp, undefined)
})

t.test('taints follow conditions', async (t) => {
  await addNode('n2')
  const setReady = (status: string) =>
    client.patch(
      nodes,
      { name: 'n2' },
      { status: { conditions: [{ type: 'Ready', status }] } },
      { subresource: 'status' },
    )
  const taints = (until: (keys: string[]) => boolean) =>
    eventually(
      async () =>
        ((await client.get<Node>(nodes, { name: 'n2' })).spec?.taints ?? [])
          .map(({ key, effect }) => `${key}:${effect}`)
          .sort(),
      until,
    )
  await setReady('False')
  const ill = ['node.kubernetes.io/not-ready:NoExecute', 'node.kubernetes.io/not-ready:NoSchedule']
  t.same(await taints((keys) => keys.length === 2), ill)
  await setReady('True')
  t.same(await taints((keys) => keys.length === 0), [])
  await client.patch(nodes, { name: 'n2' }, { spec: { unschedulable: true } })
  t.same(await taints((keys) => keys.length === 1), ['node.kubernetes.io/unschedulable:NoSchedule'])
})

const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
}
function definitionOf(plural: string, kind: string): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const versions = [{ name: 'v1', served: true, storage: true, schema }]
  return {
    metadata: { name: `${plural}.example.com` },
    spec: { group: 'example.com', scope: 'Namespaced', names: { plural, kind }, versions },
  } as KubeObject
}

t.test('custom resources are emptied out and collected like any other kind', async (t) => {
  const widgets: Resource = { group: 'example.com', version: 'v1', plural: 'widgets' }
  await client.create<KubeObject>(customResourceDefinitions, definitionOf('widgets', 'Widget'))
  const namespace = await newNamespace()
  const widget = (name: string): KubeObject => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { namespace, name },
  })
  const owner = await eventually(
    () => client.create<KubeObject>(widgets, widget('owner')).catch(() => undefined),
    (created) => created !== undefined,
  )
  const ownerReferences = [
    { apiVersion: 'example.com/v1', kind: 'Widget', name: 'owner', uid: owner?.metadata.uid ?? '' },
  ]
  await client.create<ConfigMap>(configMaps, { metadata: { namespace, name: 'owned', ownerReferences } })
  await client.create<KubeObject>(widgets, {
    ...widget('dependent'),
    metadata: { namespace, name: 'dependent', ownerReferences },
  })
  await client.delete(widgets, { namespace, name: 'owner' })
  t.equal(await disappears(configMaps, { namespace, name: 'owned' }), undefined, 'what a custom resource owned goes')
  t.equal(await disappears(widgets, { namespace, name: 'dependent' }), undefined, 'also of its own kind')

  await client.create<KubeObject>(widgets, widget('left'))
  await client.delete(namespaces, { name: namespace })
  t.equal(await disappears(namespaces, { name: namespace }), undefined, 'the namespace goes')
  t.equal(await find(widgets, { namespace, name: 'left' }), undefined, 'with what was in it')
  await client.delete(customResourceDefinitions, { name: 'widgets.example.com' })
  t.equal(await disappears(customResourceDefinitions, { name: 'widgets.example.com' }), undefined)
})

t.test('a quota speaks of a kind that is yet to come', async (t) => {
  const gadgets: Resource = { group: 'example.com', version: 'v1', plural: 'gadgets' }
  const namespace = await newNamespace()
  const quotaRef = { namespace, name: 'few' }
  await client.create<KubeObject>(resourceQuotas, {
    metadata: quotaRef,
    spec: { hard: { 'count/gadgets.example.com': '2' } },
  } as KubeObject)
  const used = async () => {
    const { status } = await client.get<{ status?: { used?: Record<string, string> } }>(resourceQuotas, quotaRef)
    return status?.used?.['count/gadgets.example.com']
  }
  const gadget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { namespace, name: 'one' } }
  for (const round of ['at first', 'again']) {
    await client.create<KubeObject>(customResourceDefinitions, definitionOf('gadgets', 'Gadget'))
    await eventually(
      () => client.create<KubeObject>(gadgets, gadget).catch(() => undefined),
      (created) => created !== undefined,
    )
    t.equal(await eventually(used, (count) => count === '1'), '1', `counted ${round}`)
    await client.delete(gadgets, gadget.metadata as ObjectRef)
    t.equal(await eventually(used, (count) => count === '0'), '0', `given back ${round}`)
    await client.delete(customResourceDefinitions, { name: 'gadgets.example.com' })
    await disappears(customResourceDefinitions, { name: 'gadgets.example.com' })
  }
})

t.test('claims, volumes and their classes are deleted when they are no longer used', async (t) => {
  const namespace = await newNamespace()
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  const claim = { namespace, name: 'data' }
  await client.create(volumeAttributesClasses, { metadata: { name: 'fast' }, driverName: 'd', parameters: { a: 'b' } })
  await client.create(persistentVolumeClaims, { metadata: claim, spec: { ...spec, volumeAttributesClassName: 'fast' } })
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  await client.create(pods, {
    metadata: { namespace, name: 'user' },
    spec: { nodeName: 'elsewhere', containers: [{ name: 'a', image: 'a' }], volumes },
  })
  const finalizersOf = async (resource: Resource, ref: ObjectRef) =>
    (await client.get<KubeObject>(resource, ref)).metadata.finalizers
  const finalizer = 'kubernetes.io/vac-protection'
  t.same(await eventually(() => finalizersOf(volumeAttributesClasses, { name: 'fast' }), Boolean), [finalizer])
  await client.delete(persistentVolumeClaims, claim)
  await client.delete(volumeAttributesClasses, { name: 'fast' })
  await client.patch(persistentVolumeClaims, claim, { metadata: { labels: { seen: 'yes' } } })
  t.same(await finalizersOf(persistentVolumeClaims, claim), ['kubernetes.io/pvc-protection'], 'the pod holds the claim')
  await client.delete(pods, { namespace, name: 'user' }, { gracePeriodSeconds: 0 })
  t.equal(await disappears(persistentVolumeClaims, claim), undefined)
  t.equal(await disappears(volumeAttributesClasses, { name: 'fast' }), undefined, 'the claim held its class')
})
