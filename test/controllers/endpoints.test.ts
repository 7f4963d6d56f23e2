import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import t from 'tap'
import { isMirrored, planMirror } from '../../controllers/endpoints/mirrored-slices.ts'
import { portsOn } from '../../controllers/endpoints/service-pods.ts'
import { endpointOf, planSlices } from '../../controllers/endpoints/slices.ts'
import { endpointsLabels, subsetsOf } from '../../controllers/endpoints/subsets.ts'
import { startLoopSet } from '../../controllers/loop-set.ts'
import { bootstrap } from '../../controllers/server-objects/bootstrap.ts'
import { startKubernetesService } from '../../controllers/server-objects/kubernetes-service.ts'
import type { Node, Pod, Service } from '../../shared/api/types.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads/workloads.ts'
import type { Resource } from '../../shared/client/client.ts'
import { endpointSlices, endpoints, leases, pods as podsResource, services } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const serviceOf = (spec: object = {}): Service => ({
  metadata: { name: 'web', namespace: 'ns', uid: 'svc', labels: { team: 'a' } },
  spec: {
    clusterIP: '10.96.0.9',
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 80, targetPort: 'http' }],
    ...spec,
  },
})
interface PodParts {
  ready?: boolean
  going?: boolean
  port?: number
}
const podOf = (n: number, { ready = true, going = false, port = 8080 }: PodParts = {}): Pod => ({
  metadata: {
    name: `p${n}`,
    namespace: 'ns',
    uid: `p${n}`,
    labels: { app: 'web' },
    ...(going && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
  spec: { nodeName: 'n1', containers: [{ name: 'c', ports: [{ name: 'http', containerPort: port }] }] },
  status: {
    phase: 'Running',
    podIP: `127.64.${n >> 8}.${n & 255}`,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  },
})
const node: Node = { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z' } } }
const many = (count: number): Pod[] => Array.from({ length: count }, (_, n) => podOf(n))
const plan = (pods: Pod[], existing: EndpointSlice[] = [], service = serviceOf()) =>
  planSlices({ service, pods, existing, nodeOf: () => node })
/** As the server has them. */
const stored = (slices: EndpointSlice[]): EndpointSlice[] =>
  slices.map((slice, n) => ({ ...slice, metadata: { ...slice.metadata, name: `web-${n}` } }))
const sizes = (slices: EndpointSlice[]) => slices.map(({ endpoints }) => endpoints?.length ?? 0)

t.test('what an endpoint is', async (t) => {
  const all = { publishNotReadyAddresses: true }
  type Row = [name: string, PodParts, object, [ready: boolean, serving: boolean, terminating: boolean]]
  const rows: Row[] = [
    ['a ready pod', {}, {}, [true, true, false]],
    ['a pod that is not ready', { ready: false }, {}, [false, false, false]],
    ['a terminating pod is not ready, but serving', { going: true }, {}, [false, true, true]],
    ['a terminating pod that is not ready', { going: true, ready: false }, {}, [false, false, true]],
    ['a pod that is not ready, published', { ready: false }, all, [true, false, false]],
    ['a terminating pod, published', { going: true }, all, [true, true, true]],
  ]
  for (const [name, parts, spec, [ready, serving, terminating]] of rows) {
    const { conditions } = endpointOf(podOf(1, parts), serviceOf(spec), node)
    t.same(conditions, { ready, serving, terminating }, name)
  }
  const named = podOf(1)
  Object.assign(named.spec, { hostname: 'web-0', subdomain: 'web' })
  t.same(endpointOf(named, serviceOf(), node), {
    addresses: ['127.64.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    hostname: 'web-0',
    nodeName: 'n1',
    targetRef: { kind: 'Pod', namespace: 'ns', name: 'p1', uid: 'p1' },
    zone: 'z',
  })
})

t.test('ports: by number, by name, and none', async (t) => {
  const ports = (...list: object[]) => portsOn(podOf(1), serviceOf({ ports: list }))
  t.same(ports({ port: 80 }), [{ name: '', port: 80, protocol: 'TCP' }])
  t.same(ports({ name: 'a', port: 80, targetPort: 81, appProtocol: 'h2c' }), [
    { name: 'a', port: 81, protocol: 'TCP', appProtocol: 'h2c' },
  ])
  t.same(ports({ name: 'a', port: 80, targetPort: 'http' }), [{ name: 'a', port: 8080, protocol: 'TCP' }])
  t.same(ports({ name: 'a', port: 80, targetPort: 'http', protocol: 'UDP' }), [])
  t.same(ports({ name: 'a', port: 80, targetPort: 'absent' }), [])
})

t.test('slices: a hundred each, by ports, each endpoint where it was', async (t) => {
  const first = plan(many(150))
  t.same(sizes(first.create), [100, 50])
  t.match(first.create[0], {
    metadata: {
      generateName: 'web-',
      labels: { team: 'a', 'kubernetes.io/service-name': 'web' },
      ownerReferences: [{ kind: 'Service', name: 'web', controller: true }],
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  })
  const there = stored(first.create)
  t.same(plan(many(150), there), { create: [], update: [], remove: [] }, 'nothing to be done')

  const changed = plan([...many(149), podOf(149, { going: true })], there)
  t.same(
    changed.update.map(({ metadata }) => metadata.name),
    ['web-1'],
  )
  const terminating = { ready: false, serving: true, terminating: true }
  t.same(changed.update[0]?.endpoints?.at(-1)?.conditions, terminating, 'a terminating pod keeps its endpoint')
  const grown = plan(many(260), there)
  t.same([sizes(grown.update), sizes(grown.create)], [[100], [60]])
  const shrunk = plan(many(90), there)
  t.same([sizes(shrunk.update), shrunk.remove.map(({ metadata }) => metadata.name)], [[90], ['web-1']])

  const mixed = plan([podOf(1), podOf(2, { port: 9090 })])
  t.same(mixed.create.map(({ ports }) => ports?.[0]?.port).sort(), [8080, 9090])
})

t.test('a service without endpoints has a slice that says so', async (t) => {
  const { create } = plan([])
  t.match(create, [{ endpoints: [], ports: [] }])
  const empty = stored(create)
  t.same(plan([], empty), { create: [], update: [], remove: [] })
  const first = plan([podOf(1)], empty)
  t.match(first, { create: [], update: [{ metadata: { name: 'web-0' } }], remove: [] }, 'it is used again')
  const last = plan([], stored(first.update))
  t.match(last, { create: [], update: [{ endpoints: [], ports: [] }], remove: [] })
  t.match(plan([podOf(1)], [], serviceOf({ clusterIP: 'None', ports: undefined })).create, [
    { endpoints: [{}], ports: [], metadata: { labels: { 'service.kubernetes.io/headless': '' } } },
  ])
})

t.test('the older form', async (t) => {
  const pods = [podOf(2), podOf(1), podOf(3, { ready: false }), podOf(4, { going: true }), podOf(5, { port: 9090 })]
  const ips = (spec: object = {}) =>
    subsetsOf(serviceOf(spec), pods).map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
      addresses.map(({ ip }) => ip.split('.').at(-1)),
      notReadyAddresses.map(({ ip }) => ip.split('.').at(-1)),
      ports.map(({ port }) => port),
    ])
  t.same(
    ips(),
    [
      [['1', '2'], ['3'], [8080]],
      [['5'], [], [9090]],
    ],
    'a pod that is not ready is no address; a terminating one is not there',
  )
  t.same(ips({ publishNotReadyAddresses: true })[0], [['1', '2', '3', '4'], [], [8080]])
  t.match(endpointsLabels(serviceOf({ clusterIP: 'None' })), { 'service.kubernetes.io/headless': '', team: 'a' })
})

const endpointsOf = (subsets: Endpoints['subsets'], metadata: object = {}): Endpoints => ({
  metadata: { name: 'db', namespace: 'ns', uid: 'e1', labels: { team: 'a' }, ...metadata },
  subsets,
})

t.test('mirrored slices: one for each family and set of ports', async (t) => {
  const source = endpointsOf(
    [
      {
        addresses: [{ ip: '192.0.2.2', hostname: 'b' }, { ip: '2001:db8::1' }],
        ports: [{ port: 80, protocol: 'TCP' }],
      },
      { notReadyAddresses: [{ ip: '192.0.2.1', nodeName: 'n1' }], ports: [{ port: 80, protocol: 'TCP' }] },
    ],
    { annotations: { note: 'x', 'endpoints.kubernetes.io/last-change-trigger-time': 'y' } },
  )
  const { create, ...others } = planMirror(source, [])
  t.same(others, { update: [], remove: [], skipped: 0 })
  t.match(create[0], {
    metadata: {
      generateName: 'db-',
      namespace: 'ns',
      labels: {
        team: 'a',
        'kubernetes.io/service-name': 'db',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Endpoints', name: 'db', uid: 'e1', controller: true }],
    },
    ports: [{ name: '', port: 80, protocol: 'TCP' }],
  })
  t.same(create[0]?.metadata.annotations, { note: 'x' })
  t.same(
    create.map(({ addressType, endpoints }) => [addressType, endpoints]),
    [
      [
        'IPv4',
        [
          { addresses: ['192.0.2.2'], conditions: { ready: true }, hostname: 'b' },
          { addresses: ['192.0.2.1'], conditions: { ready: false }, nodeName: 'n1' },
        ],
      ],
      ['IPv6', [{ addresses: ['2001:db8::1'], conditions: { ready: true } }]],
    ],
  )
  t.same(planMirror(source, stored(create)), { create: [], update: [], remove: [], skipped: 0 }, 'nothing new')
  t.match(planMirror(endpointsOf([]), stored(create)), { create: [], update: [], remove: create.map(() => ({})) })

  const moved = endpointsOf([{ addresses: [{ ip: '192.0.2.2' }], ports: [{ port: 81 }] }], { uid: 'e2' })
  const change = planMirror(moved, stored(create))
  t.match(change.update, [{ metadata: { name: 'web-0', ownerReferences: [{ uid: 'e2' }] }, ports: [{ port: 81 }] }])
  t.match([change.create, change.remove], [[], [{ addressType: 'IPv6' }]], 'a slice is used again')
})

t.test(
  'mirrored slices: ports of one address are one slice; not ready trumps ready; a thousand addresses',
  async (t) => {
    const [address] = [{ ip: '192.0.2.1' }]
    const ports = planMirror(
      endpointsOf([
        { addresses: [address], ports: [{ name: 'a', port: 1 }] },
        { addresses: [address], ports: [{ name: 'b', port: 2 }] },
      ]),
      [],
    )
    t.match(ports.create, [{ ports: [{ name: 'a' }, { name: 'b' }], endpoints: [{ addresses: ['192.0.2.1'] }] }])
    const both = planMirror(
      endpointsOf([{ addresses: [address], notReadyAddresses: [address], ports: [{ port: 1 }] }]),
      [],
    )
    t.match(both.create, [{ endpoints: [{ conditions: { ready: false } }] }])
    const all = Array.from({ length: 1005 }, (_, n) => ({ ip: `192.0.${n >> 8}.${n & 255}` }))
    const large = planMirror(endpointsOf([{ addresses: all, ports: [{ port: 1 }] }]), [])
    t.same([sizes(large.create), large.skipped], [[1000], 5])
    t.notOk(isMirrored(endpointsOf([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } })))
    t.notOk(isMirrored(endpointsOf([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } })))
  },
)

t.test('mirroring in a cluster: with the service, the Endpoints and their label', async (t) => {
  const { client } = await startTestControlPlane(t)
  const namespace = 'default'
  const ref = { namespace, name: 'db' }
  const mirrored = async (wanted: string) => {
    const labelSelector = 'endpointslice.kubernetes.io/managed-by=endpointslicemirroring-controller.k8s.io'
    const said = async () => {
      const { items } = await client.list<EndpointSlice>(endpointSlices, { namespace, labelSelector })
      return items.map(({ endpoints }) => (endpoints ?? []).map(({ addresses }) => addresses[0]).join()).join(' ')
    }
    await until(async () => (await said()) === wanted, { what: `mirrored slices: ${wanted || 'none'}` })
    t.equal(await said(), wanted)
  }
  const ports = [{ port: 5432 }]
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports }]
  await client.create<Endpoints>(endpoints, { metadata: ref, subsets })
  await client.create<Service>(services, { metadata: ref, spec: { ports } })
  await mirrored('192.0.2.1')
  await client.patch(endpoints, ref, { subsets: [{ addresses: [{ ip: '192.0.2.2' }], ports }] })
  await mirrored('192.0.2.2')
  const skip = (value: string | null) =>
    client.patch(endpoints, ref, { metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': value } } })
  await skip('true')
  await mirrored('')
  await skip(null)
  await mirrored('192.0.2.2')
  await client.delete(endpoints, ref)
  await mirrored('')
  await client.create<Endpoints>(endpoints, { metadata: ref, subsets })
  await mirrored('192.0.2.1')
  await client.patch(services, ref, { spec: { selector: { app: 'db' } } })
  await mirrored('')
})

t.test('the API server has endpoints, and keeps them when it starts on another port', async (t) => {
  // Without the loop that keeps them.
  const client = (await startTestApiServer(t)).client({ name: 'admin', groups: ['system:masters'] })
  const ref = { namespace: 'default', name: 'kubernetes' }
  const check = async (wanted: { ip: string; port: number; addressType: string }) => {
    const ports = [{ name: 'https', port: wanted.port, protocol: 'TCP' }]
    const { metadata, subsets } = await client.get<Endpoints>(endpoints, ref)
    t.same(metadata.labels, { 'endpointslice.kubernetes.io/skip-mirror': 'true' })
    t.same(subsets, [{ addresses: [{ ip: wanted.ip }], ports }])
    const slice = await client.get<EndpointSlice>(endpointSlices, ref)
    t.same(slice.metadata.labels, { 'kubernetes.io/service-name': 'kubernetes' })
    t.match(slice, {
      addressType: wanted.addressType,
      endpoints: [{ addresses: [wanted.ip], conditions: { ready: true } }],
      ports,
    })
  }
  const start = (host: string, securePort: number) =>
    bootstrap(client, {
      host,
      securePort,
      clusterIP: '10.96.0.1',
      clientCa: '',
      requestHeaderCa: '',
      nowMs: Date.now(),
    })
  await start('127.0.0.1', 6443)
  await check({ ip: '127.0.0.1', port: 6443, addressType: 'IPv4' })
  await start('0.0.0.0', 6444)
  await check({ ip: '127.0.0.1', port: 6444, addressType: 'IPv4' })
  await start('::1', 6445)
  await check({ ip: '::1', port: 6445, addressType: 'IPv6' })
})

t.test('API servers with the same objects are endpoints together, and none writes against another', async (t) => {
  const client = (await startTestApiServer(t)).client({ name: 'admin', groups: ['system:masters'] })
  const ref = { namespace: 'default', name: 'kubernetes' }
  const context = { client, clock: realClock, log: pino({ level: 'silent' }) }
  const start = async (host: string) => {
    const options = { host, securePort: 6443, clusterIP: '10.96.0.1', isShared: true }
    await bootstrap(client, { ...options, clientCa: '', requestHeaderCa: '', nowMs: Date.now() })
    return startLoopSet({ ...context, start: (context) => [startKubernetesService(context, options)] })
  }
  const shown = async (): Promise<string[]> => {
    const { subsets = [] } = await client.get<Endpoints>(endpoints, ref)
    const slice = await client.get<EndpointSlice>(endpointSlices, ref)
    t.same(
      (slice.endpoints ?? []).flatMap(({ addresses }) => addresses),
      subsets[0]?.addresses?.map(({ ip }) => ip),
    )
    return subsets[0]?.addresses?.map(({ ip }) => ip) ?? []
  }
  const [one, two] = [await start('192.0.2.1'), await start('192.0.2.2')]
  t.teardown(() => two.close())
  await Promise.all([one.synced(), two.synced()])
  t.same(await shown(), ['192.0.2.1', '192.0.2.2'])
  const versionOf = async () => (await client.get<Endpoints>(endpoints, ref)).metadata.resourceVersion
  await client.patch(endpoints, ref, { metadata: { labels: { touched: 'yes' } } })
  const version = await versionOf()
  await client.patch(endpointSlices, ref, { metadata: { labels: { touched: 'yes' } } })
  await until(async () => !(await client.get<EndpointSlice>(endpointSlices, ref)).metadata.labels?.touched, {
    what: 'both to have answered the change',
  })
  t.equal(await versionOf(), version, 'the Endpoints were written by none')
  await client.delete(endpoints, ref)
  await until(async () => (await shown().catch(() => [])).length === 2, { what: 'both addresses again' })
  const lease = (name: string, address: string) => ({
    metadata: {
      name,
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' },
      annotations: { 'kubestage.dev/advertise-address': address },
    },
  })
  const place = { namespace: 'kube-system' }
  await client.create(leases, lease('apiserver-one', '192.0.2.1'), place)
  await client.create(leases, lease('apiserver-two', '192.0.2.2'), place)
  await client.create(leases, lease('apiserver-three', '192.0.2.3'), place)
  await until(async () => (await shown()).length === 3, { what: 'the address of a third server' })
  await client.delete(leases, { ...place, name: 'apiserver-three' })
  await until(async () => (await shown()).length === 2, { what: 'the end of an address whose server was killed' })
  await one.close()
  t.same(await shown(), ['192.0.2.2'])
})

t.test("the API server's Service and endpoints come back when they are deleted or changed", async (t) => {
  const { client, port } = await startTestControlPlane(t)
  const ref = { namespace: 'default', name: 'kubernetes' }
  const right = [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port, protocol: 'TCP' }] }]
  const state = async () => {
    const get = <T extends object>(resource: Resource) => client.get<T>(resource, ref).catch(() => undefined)
    const [service, known, slice] = await Promise.all([
      get<Service>(services),
      get<Endpoints>(endpoints),
      get<EndpointSlice>(endpointSlices),
    ])
    return {
      service: service?.spec?.clusterIP,
      labels: known?.metadata.labels,
      subsets: known?.subsets,
      slice: slice && {
        labels: slice.metadata.labels,
        endpoints: slice.endpoints,
        ports: slice.ports,
      },
    }
  }
  const atFirst = await state()
  t.match(atFirst, { service: '10.96.0.1', subsets: right })
  const patch = (resource: Resource, change: object) => client.patch(resource, ref, change, { type: 'merge' })
  const labels = (change: Record<string, string | null>) => ({ metadata: { labels: change } })
  const wrong = [{ ...right[0], addresses: [{ ip: '192.0.2.1' }] }]
  const deeds: Record<string, () => Promise<unknown>> = {
    'the Endpoints are deleted': () => client.delete(endpoints, ref),
    'the slice is deleted': () => client.delete(endpointSlices, ref),
    'the Service is deleted': () => client.delete(services, ref),
    'another address': () => patch(endpoints, { subsets: wrong }),
    'no subset': () => patch(endpoints, { subsets: null }),
    'one subset too many': () => patch(endpoints, { subsets: [...right, ...wrong] }),
    'the label is gone': () => patch(endpoints, labels({ 'endpointslice.kubernetes.io/skip-mirror': null })),
    'the slice has another address': () => patch(endpointSlices, { endpoints: [{ addresses: ['192.0.2.1'] }] }),
    'the slice has another port': () => patch(endpointSlices, { ports: [{ name: 'https', port: 1, protocol: 'TCP' }] }),
    'the slice has a label': () => patch(endpointSlices, labels({ a: 'b' })),
    'the slice lacks a label': () => patch(endpointSlices, labels({ 'kubernetes.io/service-name': null })),
  }
  for (const [what, act] of Object.entries(deeds)) {
    await act()
    const isRight = async () => isDeepStrictEqual(await state(), atFirst)
    t.ok(await until(isRight, { what: `all as before, after: ${what}`, timeoutMs: 20_000 }), what)
  }

  t.comment('as upstream, what else a client writes stays until the server starts again')
  await patch(endpoints, labels({ team: 'a' }))
  await patch(services, { spec: { sessionAffinity: 'ClientIP' } })
  const ports = [{ name: 'https', port: 1234, protocol: 'TCP' }]
  await patch(endpoints, { subsets: [{ ...right[0], ports }] })
  const followed = async () => isDeepStrictEqual((await state()).slice?.ports, ports)
  await until(followed, { what: 'the slice to follow the ports of the Endpoints' })
  t.match(await state(), { labels: { team: 'a' }, subsets: [{ ports }] })
  t.match(await client.get<Service>(services, ref), { spec: { sessionAffinity: 'ClientIP' } })
})

t.test('in a cluster', async (t) => {
  const { client } = await startTestControlPlane(t)
  const namespace = 'default'
  const { metadata } = await client.create<Service>(services, {
    metadata: { namespace, name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  const slicesOf = async (name: string) =>
    (
      await client.list<EndpointSlice>(endpointSlices, {
        namespace,
        labelSelector: `kubernetes.io/service-name=${name}`,
      })
    ).items
  await until(async () => (await slicesOf('web')).length === 1, { what: 'an empty slice' })
  const ref = { namespace, name: 'web-1' }
  await client.create<Pod>(podsResource, {
    metadata: { ...ref, labels: { app: 'web' } },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'busybox:1.37' }] },
  })
  const ready = { type: 'Ready', status: 'True' }
  const status = { phase: 'Running', podIP: '127.64.0.9', podIPs: [{ ip: '127.64.0.9' }], conditions: [ready] }
  await client.patch(podsResource, ref, { status }, { subresource: 'status' })
  const readiness = (wanted: boolean) =>
    until(
      async () => {
        const slices = await slicesOf('web')
        return slices.length === 1 && slices[0]?.endpoints?.[0]?.conditions?.ready === wanted
      },
      { what: `an endpoint that is ${wanted ? '' : 'not '}ready` },
    )
  await readiness(true)
  const older = () => client.get<Endpoints>(endpoints, { namespace, name: 'web' })
  await until(async () => (await older()).subsets?.[0]?.addresses?.[0]?.ip === '127.64.0.9', { what: 'its address' })
  await client.patch(
    podsResource,
    ref,
    { status: { conditions: [{ ...ready, status: 'False' }] } },
    { subresource: 'status' },
  )
  await readiness(false)
  t.pass('an unready pod leaves the endpoints that are ready')
  await client.delete(services, { namespace, name: 'web' }, { preconditions: { uid: metadata.uid } })
  await until(async () => (await slicesOf('web')).length === 0, { what: 'the slices to go with their service' })
  await until(
    async () =>
      (await client.list<Endpoints>(endpoints, { namespace })).items.every((one) => one.metadata.name !== 'web'),
    { what: 'the endpoints to go with their service' },
  )
})
