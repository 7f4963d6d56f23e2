/** What a container finds around it: variables, volumes; and what is told of it: events. */

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { containerConfig } from '../../kubelet/containers/container-config.ts'
import { userOf } from '../../kubelet/containers/container-user.ts'
import { containerEnvironment, EnvironmentError } from '../../kubelet/containers/environment.ts'
import { hostsFile, hostsMount } from '../../kubelet/containers/hosts-file.ts'
import { resolverFile, resolverMount } from '../../kubelet/containers/resolver-file.ts'
import { createEventRecorder, type EventRecorder } from '../../kubelet/events/event-recorder.ts'
import type { EnvironmentSources } from '../../kubelet/pod/environment-sources.ts'
import { logLink } from '../../kubelet/pod/folders.ts'
import { timeVariables } from '../../kubelet/pod/time-variables.ts'
import { type VolumeFile, writeAtomically } from '../../kubelet/volumes/atomic-writer.ts'
import { containerMounts } from '../../kubelet/volumes/container-mounts.ts'
import { giveToGroup, isAnotherGroups } from '../../kubelet/volumes/give-to-group.ts'
import { checkHostPath, placeOnNode } from '../../kubelet/volumes/host-path.ts'
import { VolumeManager } from '../../kubelet/volumes/volume-manager.ts'
import { type VolumeSources, volumePayload } from '../../kubelet/volumes/volume-payload.ts'
import { notFound } from '../../shared/api/status/status-errors.ts'
import type { Container, Event, Pod, Service } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { createScaledClock } from '../../shared/clock/scaled-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'
import { createEventFilter } from '../../shared/events/event-filter.ts'
import { skipOrFail } from '../harness/skip.ts'
import { machine } from './machine.ts'

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', labels: { app: 'web', tier: 'x' } },
  spec: { nodeName: 'n1', serviceAccountName: 'default', containers: [] },
}
const service = (namespace: string, name: string, clusterIP: string, ports: object[]): Service => ({
  metadata: { name, namespace },
  spec: { clusterIP, ports: ports as NonNullable<Service['spec']>['ports'] },
})
const services = [
  service('default', 'kubernetes', '10.96.0.1', [{ name: 'https', port: 443, protocol: 'TCP' }]),
  service('ns', 'my-db', '10.96.0.7', [{ port: 5432, protocol: 'TCP' }]),
  service('ns', 'headless', 'None', [{ port: 1 }]),
]
const sources: EnvironmentSources = {
  configMap: async (_, name) => (name === 'cm' ? { metadata: {}, data: { a: '1', b: '$(X)' } } : undefined),
  secret: async (_, name) =>
    name === 's' ? { metadata: {}, data: { pw: Buffer.from('geheim').toString('base64') } } : undefined,
  services: (namespace) => services.filter(({ metadata }) => metadata.namespace === namespace),
  allocatable: () => ({ cpu: '4', memory: '1073741824' }),
  hostIP: '127.0.0.1',
  servesCluster: false,
  time: () => ({}),
}
const envOf = (container: Partial<Container>, subject = pod) =>
  containerEnvironment(subject, { name: 'c', ...container }, '127.64.0.5', sources)

t.test('variables', async (t) => {
  const env = await envOf({
    resources: { limits: { memory: '64Mi', cpu: '1500m' } },
    envFrom: [{ prefix: 'CM_', configMapRef: { name: 'cm' } }, { configMapRef: { name: 'none', optional: true } }],
    env: [
      { name: 'X', value: 'x' },
      { name: 'Y', value: '$(X)-$(CM_a)-$(LATER)-$$(X)-$(MY_DB_SERVICE_PORT)' },
      { name: 'LATER', value: 'l' },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
      { name: 'PW', valueFrom: { secretKeyRef: { name: 's', key: 'pw' } } },
      { name: 'MIB', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
      { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      { name: 'NODE_CPU', valueFrom: { resourceFieldRef: { containerName: 'c', resource: 'requests.cpu' } } },
    ],
  })
  t.match(env, {
    CM_a: '1',
    CM_b: '$(X)',
    Y: 'x-1-$(LATER)-$(X)-5432',
    IP: '127.64.0.5',
    APP: 'web',
    PW: 'geheim',
    MIB: '64',
    CPU: '2',
    NODE_CPU: '2',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT_HTTPS: '443',
    MY_DB_PORT: 'tcp://10.96.0.7:5432',
    MY_DB_PORT_5432_TCP_ADDR: '10.96.0.7',
  })
  t.notOk('HEADLESS_SERVICE_HOST' in env)
  const unlinked = await envOf({}, { ...pod, spec: { ...pod.spec, enableServiceLinks: false } })
  t.same(
    Object.keys(unlinked).filter((name) => !name.startsWith('KUBERNETES_')),
    ['KUBESTAGE_POD_IP'],
    'no links but to the API itself',
  )
})

t.test('where a client in a container finds the API server', async (t) => {
  const told = async (apiServer: string, value?: string) => {
    const given = value ? [{ name: 'KUBERNETES_SERVICE_HOST', value }] : []
    const container = { name: 'c', env: [...given, { name: 'URL', value: '$(KUBERNETES_SERVICE_HOST)' }] }
    return containerEnvironment(pod, container, '', { ...sources, apiServer: new URL(apiServer) })
  }
  t.match(await told('https://127.0.0.1:7443'), {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: '7443',
    KUBERNETES_SERVICE_PORT_HTTPS: '7443',
    KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
    URL: '127.0.0.1',
  })
  t.match(await told('https://[::1]'), { KUBERNETES_SERVICE_HOST: '::1', KUBERNETES_SERVICE_PORT: '443' })
  t.match(await told('https://127.0.0.1:7443', 'mine'), { KUBERNETES_SERVICE_HOST: 'mine', URL: 'mine' })
})

t.test('the names that a pod knows', (t) => {
  const rootDir = t.testdir()
  const named: Pod = { ...pod, spec: { ...pod.spec, hostname: 'web-0', subdomain: 'web' } }
  const aliases = [{ ip: '192.0.2.1', hostnames: ['a.example', 'a'] }, { ip: '192.0.2.2' }]
  const machine = '127.0.0.1 localhost\n'
  t.equal(
    hostsFile({ ...named, spec: { ...named.spec, hostAliases: aliases } }, '127.64.0.5', machine),
    `# Kubernetes-managed hosts file.
127.64.0.5\tweb-0.web.ns.svc.cluster.local\tweb-0

# Entries added by HostAliases.
192.0.2.1\ta.example\ta
192.0.2.2

# The machine's own.
${machine}`,
  )
  t.match(hostsFile(pod, '127.64.0.5', machine), /^127\.64\.0\.5\tp$/m)
  const own = hostsFile(pod, '10.244.0.5', undefined)
  t.match(own, '# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n')
  t.match(own, '\n10.244.0.5\tp\n')
  t.notMatch(own, machine)
  const container = { name: 'c' }
  const mount = hostsMount(pod, container, { podIP: '127.64.0.5', rootDir: rootDir, ownNetwork: false })
  t.match(readFileSync(mount?.hostPath ?? '', 'utf8'), '127.64.0.5\tp\n')
  hostsMount(pod, container, { podIP: '127.64.0.6', rootDir: rootDir, ownNetwork: false })
  t.match(readFileSync(mount?.hostPath ?? '', 'utf8'), '127.64.0.6\tp\n', 'a new address')
  const mounting = { name: 'c', volumeMounts: [{ name: 'v', mountPath: '/etc/hosts/' }] }
  t.equal(
    hostsMount(pod, mounting, { podIP: '127.64.0.5', rootDir: rootDir, ownNetwork: false }),
    undefined,
    'a file of its own',
  )
  const onHost: Pod = { ...pod, spec: { ...pod.spec, hostNetwork: true } }
  t.equal(
    hostsMount(onHost, container, { podIP: '127.0.0.1', rootDir: rootDir, ownNetwork: false }),
    undefined,
    'the machine’s network has the machine’s names',
  )
  const aliased = hostsFile({ ...onHost, spec: { ...onHost.spec, hostAliases: aliases } }, '127.0.0.1', machine)
  t.match(aliased, /\(host network\)/)
  t.notMatch(aliased, /\tp$/m)
  t.end()
})

t.test('the name servers that a pod asks', (t) => {
  const rootDir = t.testdir()
  const machine = '# comment\nnameserver 192.0.2.53\nsearch lab.example\noptions ndots:1 rotate\n'
  const dnsConfig = {
    nameservers: ['198.51.100.1', '192.0.2.53'],
    searches: ['my.dns.example'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  }
  const of = (spec: Partial<Pod['spec']>): Pod => ({ ...pod, spec: { ...pod.spec, ...spec } })
  t.equal(
    resolverFile(of({ dnsPolicy: 'None', dnsConfig }), machine),
    'search my.dns.example\nnameserver 198.51.100.1\nnameserver 192.0.2.53\noptions ndots:2 edns0\n',
  )
  t.equal(
    resolverFile(of({ dnsPolicy: 'ClusterFirst', dnsConfig }), machine),
    'search lab.example my.dns.example\nnameserver 192.0.2.53\nnameserver 198.51.100.1\noptions ndots:2 rotate edns0\n',
  )
  const many = { nameservers: ['198.51.100.1', '198.51.100.2', '198.51.100.3'] }
  t.equal(resolverFile(of({ dnsConfig: many }), 'nameserver 192.0.2.53').match(/nameserver/g)?.length, 3)
  const container = { name: 'c' }
  const dnsServer = '10.96.0.10'
  t.equal(
    resolverFile(of({ dnsPolicy: 'ClusterFirst' }), machine, dnsServer),
    'search ns.svc.cluster.local svc.cluster.local cluster.local lab.example\nnameserver 10.96.0.10\noptions ndots:5\n',
    'a pod of a cluster with DNS',
  )
  t.equal(
    resolverFile(
      of({ dnsConfig: { searches: ['my.dns.example'], options: [{ name: 'ndots', value: '2' }] } }),
      '',
      dnsServer,
    ),
    'search ns.svc.cluster.local svc.cluster.local cluster.local my.dns.example\nnameserver 10.96.0.10\noptions ndots:2\n',
  )
  const mounted = (spec: Partial<Pod['spec']>) =>
    resolverMount(of(spec), container, { rootDir, dnsServer }) !== undefined
  t.equal(mounted({}), true)
  t.equal(mounted({ hostNetwork: true }), false, 'the machine’s network has the machine’s resolver')
  t.equal(mounted({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }), true)
  t.equal(
    resolverMount(of({ dnsPolicy: 'Default' }), container, { rootDir, dnsServer }),
    undefined,
    'the machine’s file',
  )
  const mount = resolverMount(of({ dnsPolicy: 'None', dnsConfig }), container, { rootDir })
  t.equal(mount?.containerPath, '/etc/resolv.conf')
  t.match(readFileSync(mount?.hostPath ?? '', 'utf8'), /^search my/)
  const own = { name: 'c', volumeMounts: [{ name: 'v', mountPath: '/etc/resolv.conf' }] }
  t.equal(resolverMount(of({ dnsPolicy: 'None', dnsConfig }), own, { rootDir }), undefined, 'a file of its own')
  t.end()
})

t.test('what a program is told of a clock that is not its own', async (t) => {
  const machine = createVirtualClock()
  t.same(timeVariables(machine, 30), {}, 'nothing where time is not scaled')
  const faster = createScaledClock(machine, { scale: 60, originMs: machine.now() })
  const told = { KUBESTAGE_TIME_SCALE: '60', KUBESTAGE_GRACE_PERIOD_SECONDS: '0.5' }
  t.same(timeVariables(faster, 30), told)
  const env = await containerEnvironment(
    pod,
    { name: 'c', env: [{ name: 'KUBESTAGE_TIME_SCALE', value: 'mine' }] },
    '',
    {
      ...sources,
      time: () => told,
    },
  )
  t.match(env, { KUBESTAGE_TIME_SCALE: 'mine', KUBESTAGE_GRACE_PERIOD_SECONDS: '0.5' }, 'the pod’s own word counts')
})

t.test('variables that are more than a program can be given', async (t) => {
  const doubling = Array.from({ length: 27 }, (_, index) => ({
    name: `V${index + 1}`,
    value: `$(V${index})$(V${index})`,
  }))
  const annotated = { ...pod, metadata: { ...pod.metadata, annotations: { a: 'x'.repeat(250_000) } } }
  const notes = Array.from({ length: 1_000 }, (_, index) => ({
    name: `N${index}`,
    valueFrom: { fieldRef: { fieldPath: 'metadata.annotations' } },
  }))
  const before = process.memoryUsage().rss
  await t.rejects(envOf({ env: [{ name: 'V0', value: '0123456789abcdef' }, ...doubling] }), {
    message: /^a word expands/,
  })
  await t.rejects(envOf({ env: notes }, annotated), { message: /^its variables hold more/ })
  t.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024, 'they are not made first')
  const [note = { name: '', value: '' }] = notes
  const again = await envOf({ env: Array(1_000).fill(note) }, annotated)
  t.equal(again.N0?.length, 250_004, 'one that is replaced does not count')
})

t.test('variables that cannot be had', async (t) => {
  const missing = (valueFrom: object) => envOf({ env: [{ name: 'A', valueFrom }] })
  await t.rejects(
    missing({ configMapKeyRef: { name: 'none', key: 'k' } }),
    new EnvironmentError('configmap "none" not found'),
  )
  await t.rejects(missing({ configMapKeyRef: { name: 'cm', key: 'k' } }), {
    message: "couldn't find key k in ConfigMap ns/cm",
  })
  await t.rejects(missing({ secretKeyRef: { name: 's', key: 'k' } }), { message: "couldn't find key k in Secret ns/s" })
  t.notOk('A' in (await missing({ secretKeyRef: { name: 'none', key: 'k', optional: true } })))
})

t.test('command and arguments', async (t) => {
  const image = {
    id: 'i',
    entrypoint: ['/bin/app'],
    cmd: ['serve'],
    env: { LANG: 'C', A: 'image' },
    path: [],
    present: true,
  }
  const commandOf = (container: Partial<Container>) =>
    containerConfig({
      pod,
      container: { name: 'c', ...container },
      sandboxId: 's',
      attempt: 3,
      image,
      env: { A: '1' },
      rootDir: '/r',
      mounts: [],
      messageFile: '/r/message',
      machineBytes: 2 ** 34,
      featureGates: defaultFeatureGates,
      resources: {},
    })
  t.same(commandOf({}).command, ['/bin/app', 'serve'])
  t.same(commandOf({ args: ['x', '$(A)'] }).command, ['/bin/app', 'x', '1'])
  t.match(commandOf({ args: ['$(A)'.repeat(131_073)] }), {
    command: ['/bin/app', /^\$/],
    tooLong: /more than 131072 bytes/,
  })
  t.same(
    commandOf({ command: ['sh', '-c', 'echo $A'] }).command,
    ['sh', '-c', 'echo $A'],
    "the image's arguments go with its command",
  )
  t.same(commandOf({}).env, { LANG: 'C', A: '1' })
  t.equal(commandOf({}).logPath, '/r/logs/pods/ns_p_u/c/3.log')
  t.notOk(commandOf({}).readonlyRoot)
  t.ok(commandOf({ securityContext: { readOnlyRootFilesystem: true } }).readonlyRoot)
})

t.test('a container’s user: its own before its pod’s, and the pod’s groups', (t) => {
  const of = (ofPod: object | undefined, ofContainer?: object) =>
    userOf({ ...pod, spec: { ...pod.spec, securityContext: ofPod } }, { name: 'c', securityContext: ofContainer })
  t.equal(of(undefined), undefined)
  t.equal(of({ runAsNonRoot: true }, { privileged: false }), undefined)
  t.same(of({ runAsUser: 1, runAsGroup: 2 }), { uid: 1, gid: 2, groups: [] })
  t.same(of({ runAsUser: 1, runAsGroup: 2 }, { runAsUser: 0 }), { uid: 0, gid: 2, groups: [] })
  t.same(of({ fsGroup: 5, supplementalGroups: [6, 7] }, { runAsUser: 3 }), {
    uid: 3,
    gid: undefined,
    groups: [5, 6, 7],
  })
  t.throws(() => of({ runAsNonRoot: true, runAsUser: 0 }), {
    message: `container's runAsUser breaks non-root policy (pod: "p_ns(u)", container: c)`,
  })
  t.doesNotThrow(() => of({ runAsNonRoot: true, runAsUser: 0 }, { runAsUser: 9 }))
  t.doesNotThrow(() => of({ runAsNonRoot: true, runAsUser: 0 }, { runAsNonRoot: false }))
  t.end()
})

function folder(t: Test): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'kubestage-volume-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
const file = (text: string, mode = 0o644) => ({ data: Buffer.from(text), mode })

t.test('contents of a volume change all at once', async (t) => {
  const dir = folder(t)
  const read = (name: string) => readFileSync(path.join(dir, name), 'utf8')
  writeAtomically(
    dir,
    new Map([
      ['a', file('1')],
      ['sub/b', file('2', 0o400)],
    ]),
    't1',
  )
  t.equal(read('a') + read('sub/b'), '12')
  t.equal(statSync(path.join(dir, 'sub/b')).mode & 0o777, 0o400)
  const first = readlinkSync(path.join(dir, '..data'))
  writeAtomically(
    dir,
    new Map([
      ['a', file('1')],
      ['sub/b', file('2', 0o400)],
    ]),
    't2',
  )
  t.equal(readlinkSync(path.join(dir, '..data')), first, 'nothing new, nothing touched')
  writeAtomically(dir, new Map([['a', file('3')]]), 't3')
  t.equal(read('a'), '3')
  t.notOk(existsSync(path.join(dir, 'sub')))
  t.equal(readdirSync(dir).filter((name) => name.startsWith('..t')).length, 1, 'old versions are gone')
})

t.test('a volume of an fsGroup: its files are the group’s, before they can be seen', async (t) => {
  if (process.getuid?.() !== 0) return skipOrFail(t, 'files are given to groups by root only')
  const dir = folder(t)
  const seen = (name: string) => {
    const { gid, mode } = lstatSync(path.join(dir, name))
    return `${gid} ${(mode & 0o7777).toString(8)}`
  }
  const own = { group: 62_000, readonly: true }
  writeAtomically(dir, new Map([['sub/a', file('1', 0o400)]]), 't1', own)
  t.same(['.', '..data/', '..data/sub', 'sub/a'].map(seen), ['62000 2750', '62000 2755', '62000 2755', '62000 440'])
  t.equal(lstatSync(path.join(dir, 'sub')).gid, 62_000, 'links, too')
  writeAtomically(dir, new Map([['sub/a', { ...file('2', 0o600), owner: 61_000 }]]), 't2', own)
  t.same(
    [lstatSync(path.join(dir, 'sub/a')).uid, seen('sub/a')],
    [61_000, '62000 640'],
    'and its user’s, where it has one',
  )

  const written = folder(t)
  writeFileSync(path.join(written, 'f'), '', { mode: 0o600 })
  giveToGroup(written, { group: 62_000, readonly: false })
  const { gid, mode } = statSync(path.join(written, 'f'))
  t.same([gid, mode & 0o7777, statSync(written).mode & 0o7777], [62_000, 0o660, 0o2770])
  t.notOk(isAnotherGroups(written, { group: 62_000, readonly: false }), 'nothing is to be done again')
  t.ok(isAnotherGroups(written, { group: 62_001, readonly: false }))
  chmodSync(written, 0o2750)
  t.ok(isAnotherGroups(written, { group: 62_000, readonly: false }))
})

t.test('what a program does to the modes of its emptyDir stays', async (t) => {
  const clock = createVirtualClock()
  const events = { podEvent() {} } as unknown as EventRecorder
  const options = { clock, events, sources: {} as VolumeSources, podFiles: true }
  const root = t.testdir()
  const securityContext = process.getuid?.() === 0 ? { fsGroup: 62_000 } : {}
  const volumeMounts = [{ name: 'v', mountPath: '/v' }]
  const containers = [{ name: 'c', volumeMounts }]
  const own: Pod = { ...pod, spec: { securityContext, containers, volumes: [{ name: 'v', emptyDir: {} }] } }
  const manager = new VolumeManager({ ...options, podDir: () => root, nodeLogs: root })
  const { signal } = new AbortController()
  await manager.mount(own, signal)
  const dir = manager.path(own, { name: 'v', emptyDir: {} })
  const first = statSync(dir)
  if (securityContext.fsGroup) t.same([first.gid, first.mode & 0o7777], [62_000, 0o2777])
  chmodSync(dir, 0o700)
  writeFileSync(path.join(dir, 'key'), '', { mode: 0o600 })
  const modes = () => [dir, path.join(dir, 'key')].map((name) => statSync(name).mode & 0o777)
  await clock.advance(120_000)
  await manager.mount(own, signal)
  t.same(modes(), [0o700, 0o600], 'a minute later')
  await new VolumeManager({ ...options, podDir: () => root, nodeLogs: root }).mount(own, signal)
  t.same(modes(), [0o700, 0o600], 'and for the next kubelet')
})

t.test('what the kubelet writes for one pod is bounded', async (t) => {
  const clock = createVirtualClock()
  const told: string[] = []
  const events = { podEvent: (...of: string[]) => void told.push(of.slice(2).join(' ')) } as never
  const from = { addresses: () => ({ podIP: '', hostIP: '' }), allocatable: () => ({}) } as never
  const root = t.testdir()
  const manager = new VolumeManager({
    clock,
    events,
    sources: from,
    podDir: (uid) => path.join(root, uid),
    nodeLogs: root,
    podFiles: true,
  })
  const large = (uid: string, volumes: number, items: number): Pod => {
    const names = Array.from({ length: volumes }, (_, index) => `v${index}`)
    const fieldRef = { fieldPath: 'metadata.annotations' }
    const downwardAPI = { items: Array.from({ length: items }, (_, index) => ({ path: `f${index}`, fieldRef })) }
    return {
      metadata: { ...pod.metadata, uid, annotations: { a: 'x'.repeat(250_000) } },
      spec: {
        volumes: names.map((name) => ({ name, downwardAPI })),
        containers: [{ name: 'c', volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) }],
      },
    }
  }
  const stop = new AbortController()
  const before = process.memoryUsage().rss
  const waits = manager.mount(large('many', 100, 50), stop.signal).catch(() => 'given up')
  await manager.mount(large('few', 2, 50), stop.signal)
  t.equal(readdirSync(path.join(root, 'few/volumes/kubernetes.io~downward-api/v1')).length, 52)
  stop.abort()
  t.equal(await waits, 'given up')
  t.match(
    told[0],
    /^Warning FailedMount MountVolume.SetUp failed for volume "v\d+" : the files that the kubelet writes/,
  )
  t.ok(process.memoryUsage().rss - before < 300 * 1024 * 1024, 'they are not made first')
})

t.test('where contents come from', async (t) => {
  const from: VolumeSources = {
    configMap: async (_, name) => (name === 'cm' ? new Map([['k', Buffer.from('v')]]) : undefined),
    secret: async () => new Map([['pw', Buffer.from('x')]]),
    token: async () => 'token',
    claimed: async () => ({ path: '/nowhere', provisioned: false }),
    allocatable: () => ({}),
    addresses: () => ({ podIP: '127.64.0.5', hostIP: '127.0.0.1' }),
  }
  const contents = async (volume: object, securityContext?: object) => {
    const subject = { ...pod, spec: { ...pod.spec, securityContext, containers: [{ name: 'c' }] } }
    const payload = await volumePayload(subject, { name: 'v', ...volume }, from)
    const shown = ({ data, mode, owner }: VolumeFile) =>
      `${data} ${mode.toString(8)}${owner === undefined ? '' : ` of ${owner}`}`
    return payload && Object.fromEntries([...payload].map(([name, file]) => [name, shown(file)]))
  }
  t.same(await contents({ configMap: { name: 'cm', defaultMode: 0o600 } }), { k: 'v 600' })
  t.same(await contents({ secret: { secretName: 's', items: [{ key: 'pw', path: 'd/p', mode: 0o400 }] } }), {
    'd/p': 'x 400',
  })
  t.equal(await contents({ emptyDir: {} }), undefined)
  t.same(
    await contents({
      projected: {
        sources: [
          { serviceAccountToken: { path: 'token' } },
          { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
      },
    }),
    { token: 'token 644', labels: 'app="web"\ntier="x" 644' },
  )
  const token = { projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }
  t.same(await contents(token, { fsGroup: 5 }), { token: 'token 600' })
  t.same(await contents(token, { runAsUser: 6 }), { token: 'token 600 of 6' }, 'nobody else reads it')
  await t.rejects(contents({ configMap: { name: 'none' } }), { message: 'configmap "none" not found' })
  t.same(await contents({ configMap: { name: 'none', optional: true } }), {})
})

t.test('volume mounts: where on the machine, and whether to be written', async (t) => {
  const dir = folder(t)
  const volumes = [
    { name: 'd', emptyDir: {} },
    { name: 'c', configMap: { name: 'settings' } },
    { name: 'i', image: { reference: 'files' } },
  ]
  const image = folder(t)
  const imageFolders = new Map([['i', image]])
  const mounted = (mount: object) =>
    containerMounts(
      { ...pod, spec: { ...pod.spec, volumes } },
      { name: 'c', volumeMounts: [{ name: 'd', mountPath: '/data/', ...mount }] },
      { env: { POD: 'p', EMPTY: '', UP: '..', ROOT: '/etc' }, volumePath: () => dir, imageFolders },
    )
  t.same(mounted({}), [{ containerPath: '/data', hostPath: dir, readonly: false }])
  t.match(mounted({ readOnly: true }), [{ readonly: true }])
  t.match(mounted({ name: 'c' }), [{ readonly: true }], 'what comes from the API is not written here')
  t.match(mounted({ subPathExpr: 'of/$(POD)' }), [{ hostPath: path.join(dir, 'of/p') }])
  t.ok(statSync(path.join(dir, 'of/p')).isDirectory(), 'a missing folder is made')
  symlinkSync('/etc', path.join(dir, 'out'))
  t.throws(() => mounted({ subPath: 'out' }), { message: /failed to prepare subPath/ })
  const refused = {
    '$(ROOT)': 'error SubPath `/etc` must not be an absolute path',
    'a/$(UP)/b': "unable to provision SubPath `a/../b`: must not contain '..'",
    '$(NONE)/$(EMPTY)/$(NONE)': 'missing value for EMPTY, NONE',
  }
  for (const [subPathExpr, message] of Object.entries(refused)) t.throws(() => mounted({ subPathExpr }), { message })
  t.match(mounted({ subPathExpr: 'a..b/$$(POD)' }), [{ hostPath: path.join(dir, 'a..b/$(POD)') }])
  mkdirSync(path.join(image, 'sub'))
  symlinkSync('/etc', path.join(image, 'out'))
  t.same(mounted({ name: 'i' }), [{ containerPath: '/data', hostPath: realpathSync(image), readonly: true }])
  t.match(mounted({ name: 'i', subPath: 'sub' }), [{ hostPath: path.join(realpathSync(image), 'sub') }])
  const failed = (subPath: string) => ({
    message: `ImageVolumeMountFailed: volume "i": image "files": it has no ${subPath}`,
  })
  for (const subPath of ['none', 'out']) t.throws(() => mounted({ name: 'i', subPath }), failed(subPath))
  t.same(readdirSync(image).sort(), ['out', 'sub'], 'nothing is made in an image')
  t.throws(() => mounted({ name: 'none' }), { message: /cannot find volume "none"/ })
})

t.test('a folder that a subPath makes has the mode and group of its volume', async (t) => {
  const outside = t.testdir({ volume: {}, other: {} })
  const dir = path.join(outside, 'volume')
  const volumes = [{ name: 'd', emptyDir: {} }]
  const mounted = (subPath: string) =>
    containerMounts(
      { ...pod, spec: { ...pod.spec, volumes } },
      { name: 'c', volumeMounts: [{ name: 'd', mountPath: '/data', subPath }] },
      { env: {}, volumePath: () => dir, imageFolders: new Map() },
    )[0]?.hostPath ?? ''
  const modeOf = (file: string) => statSync(file).mode & 0o7777
  chmodSync(dir, 0o1777)
  t.equal(modeOf(mounted('open')), 0o777, 'not the sticky bit')
  if (process.getuid?.() === 0) giveToGroup(dir, { group: 4711, readonly: false })
  else chmodSync(dir, 0o2770)
  const made = mounted('deep/er')
  t.equal(modeOf(made), 0o2777 & modeOf(dir))
  t.equal(statSync(made).gid, statSync(dir).gid)
  chmodSync(made, 0o700)
  t.equal(mounted('deep//./er/'), made)
  t.equal(modeOf(made), 0o700, 'one that is there keeps its mode')
  symlinkSync(path.join(outside, 'other'), path.join(dir, 'link'))
  t.throws(() => mounted('link/new'), { message: /failed to prepare subPath/ })
  t.same(readdirSync(path.join(outside, 'other')), [], 'nothing is made outside of the volume')
})

t.test('a subPathExpr that leads out of its volume: the container waits until the variable is right', async (t) => {
  const { clock, api, start, create, container } = machine(t)
  const kubelet = await start()
  const folder = { name: 'FOLDER', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['folder']" } } }
  await create('p', {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [
      {
        name: 'c',
        image: 'x',
        env: [folder],
        volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(FOLDER)' }],
      },
    ],
  })
  const reason = 'CreateContainerConfigError'
  for (const [annotation, message] of [
    [undefined, 'missing value for FOLDER'],
    ['/etc', 'error SubPath `/etc` must not be an absolute path'],
    ['../..', "unable to provision SubPath `../..`: must not contain '..'"],
  ]) {
    if (annotation !== undefined) api.patchPod('p', { metadata: { annotations: { folder: annotation } } })
    await clock.advance(20_000)
    t.same(container()?.state, { waiting: { reason, message } })
  }
  api.patchPod('p', { metadata: { annotations: { folder: 'own' } } })
  await clock.advance(20_000)
  t.ok(container()?.state?.running, 'it runs')
  t.equal(container()?.restartCount, 0)
  await kubelet.close()
})

t.test('a volume that the node cannot mount is not mounted empty', async (t) => {
  const { clock, api, start, create, pod, container } = machine(t)
  const messages = new Set<string>()
  api.onWrite(({ plural, object }) => {
    const { reason, message } = (object ?? {}) as Event
    if (plural === 'events' && reason?.startsWith('Failed')) messages.add(`${reason}: ${message}`)
  })
  const kubelet = await start()
  const withVolume = (name: string, source: object) =>
    create(name, {
      volumes: [{ name: 'v', ...source }],
      containers: [{ name: 'c', image: 'x', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    })
  await withVolume('image', { image: { reference: 'busybox:1.37' } })
  await withVolume('nfs', { nfs: { server: 'nfs.example.com', path: '/' } })
  await clock.advance(20_000)
  const message = 'ImageVolumeMountFailed: volume "v": image "busybox:1.37": this node cannot mount images'
  t.same(container('image')?.state, { waiting: { reason: 'CreateContainerError', message } })
  t.same(container('nfs')?.state, { waiting: { reason: 'ContainerCreating' } })
  t.equal(pod('nfs')?.status?.phase, 'Pending')
  t.same([...messages].sort(), [
    `Failed: Error: ${message}`,
    'FailedMount: MountVolume.SetUp failed for volume "v" : no volume plugin matched',
  ])
  await kubelet.close()
})

t.test('hostPath types', async (t) => {
  const dir = folder(t)
  t.throws(() => checkHostPath('/etc/passwd', 'Directory'), {
    message: 'hostPath type check failed: /etc/passwd is not a directory',
  })
  checkHostPath(path.join(dir, 'new/dir'), 'DirectoryOrCreate')
  t.ok(statSync(path.join(dir, 'new/dir')).isDirectory())
  checkHostPath('/no/such/thing', '')
})

t.test('the node has a /var/log of its own', async (t) => {
  const places = ['/var/log', '/var/log/', '/var/log/pods/x', '/var//log/../log/app', '/var/logs', '/var', '/']
  t.same(
    places.map((place) => placeOnNode(place, '/r/logs')),
    ['/r/logs', '/r/logs', '/r/logs/pods/x', '/r/logs/app', '/var/logs', '/var', '/'],
  )
  t.same(logLink('/r/pods/logs/pods/ns_p.q_u/c-d/3.log', 'abc'), {
    path: '/r/pods/logs/containers/p.q_ns_c-d-abc.log',
    target: '../pods/ns_p.q_u/c-d/3.log',
  })
  const long = logLink(`/r/logs/pods/ns_${'p'.repeat(253)}_u/c/3.log`, 'abc')
  t.equal(path.basename(long?.path ?? ''), `${'p'.repeat(251)}.log`, 'a name that file systems take')
  for (const other of ['/r/logs/u/0.log', '0.log', '/r/logs/other/ns_p_u/c/3.log'])
    t.equal(logLink(other, 'a'), undefined)
})

t.test('an event that is posted at the second try is counted once', async (t) => {
  const clock = createVirtualClock()
  const posted: Partial<Event>[] = []
  let isAway = false
  const take = async (event: Partial<Event>) => {
    if (isAway) throw new Error('connection refused')
    posted.push(event)
    return event
  }
  const client = {
    create: (_: unknown, event: Event) => take(event),
    patch: (...[, , news]: [unknown, unknown, Partial<Event>]) =>
      posted.length < 4 ? take(news) : Promise.reject(notFound({ group: '', plural: 'events' }, 'e')),
  } as unknown as Client
  const recorder = createEventRecorder({ client, clock, component: 'kubelet', host: 'n', onError: t.error })
  const object = { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'u', namespace: 'ns' }
  const tell = () => recorder.event(object, 'Warning', 'Unhealthy', 'no answer')
  tell()
  tell()
  await clock.advance(1)
  isAway = true
  tell()
  tell()
  await clock.advance(25_000)
  t.equal(posted.length, 2)
  isAway = false
  await clock.advance(10_000)
  tell()
  await clock.advance(1)
  t.same(
    posted.map(({ count }) => count),
    [1, 2, 3, 4, 5],
  )
  t.ok(posted[4]?.metadata?.name, 'it was not there any more: made anew')
})

t.test('events are counted, combined and limited', async (t) => {
  const object = { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'u', namespace: 'ns' }
  const filter = createEventFilter()
  const admit = (message: string, nowMs = 0, reason = 'R') =>
    filter.admit({ object, type: 'Normal', reason, message }, nowMs)
  const first = admit('a')
  t.equal(admit('a')?.known, first?.known, 'the same event again')
  for (const n of Array(8).keys()) admit(`m${n}`)
  const combined = admit('one more')
  t.equal(combined?.message, '(combined from similar events): one more')
  t.equal(admit('and another')?.known, combined?.known)
  for (const n of Array(20).keys()) admit('x', 0, `other${n}`)
  t.equal(admit('x', 0, 'last'), undefined, 'the budget of 25 is spent')
  t.ok(admit('x', 300_000, 'later'), 'one more every five minutes')
})
