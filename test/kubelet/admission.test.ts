import t from 'tap'
import { NodeLoad, podLoad } from '../../kubelet/admission/node-load.ts'
import { PodAdmission } from '../../kubelet/admission/pod-admission.ts'
import { failedPredicate } from '../../kubelet/admission/predicates.ts'
import { victims } from '../../kubelet/admission/preemption.ts'
import { forbiddenSysctl } from '../../kubelet/admission/sysctls.ts'
import type { KillOptions } from '../../kubelet/ending/pod-state-machine.ts'
import type { Node, Pod, PodSpec, PodStatus } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { machine } from './machine.ts'

const node: Node = {
  metadata: { name: 'n1', labels: { 'kubernetes.io/os': 'linux', zone: 'a' } },
  status: { allocatable: { cpu: '2', memory: '1Gi', pods: '3', 'example.com/chip': '1' } },
}

interface PodInput extends Partial<PodSpec> {
  requests?: Record<string, string>
  hostPort?: number
}
const container = ({ requests, hostPort }: PodInput) => ({
  name: 'c',
  resources: { requests },
  ...(hostPort && { ports: [{ containerPort: 80, hostPort, protocol: 'TCP' }] }),
})
const pod = (name: string, { requests, hostPort, ...spec }: PodInput = {}, qosClass = 'Burstable'): Pod => ({
  metadata: { name, namespace: 'ns', uid: name, generation: 1 },
  spec: { nodeName: 'n1', containers: [container({ requests, hostPort })], ...spec },
  status: { phase: 'Pending', qosClass },
})
const loadOf = (...pods: Pod[]): NodeLoad => {
  const load = new NodeLoad()
  for (const taken of pods) load.take(podLoad(taken))
  return load
}
const verdict = (wanted: Pod, load = loadOf(), on = node) =>
  failedPredicate({ wanted: podLoad(wanted), node: on, load })

t.test(
  'where pods share network and IPC with the machine, a safe sysctl is refused as in a pod that asks for that',
  async (t) => {
    const { start, create, clock, pod: podNamed, container, runtime } = machine(t)
    Object.assign(runtime, { ownIpc: false })
    const kubelet = await start()
    const containers = [{ name: 'c', image: 'x' }]
    for (const [name, sysctl, shared] of [
      ['net', 'net.ipv4.ip_local_port_range', 'net'],
      ['ipc', 'kernel.shm_rmid_forced', 'ipc'],
    ] as const) {
      await create(name, { containers, securityContext: { sysctls: [{ name: sysctl, value: '1' }] } })
      await clock.advance(2_000)
      const { phase, reason, message } = podNamed(name)?.status ?? {}
      const why = `Pod was rejected: forbidden sysctl: "${sysctl}" not allowed with host ${shared} enabled`
      t.same({ phase, reason, message }, { phase: 'Failed', reason: 'SysctlForbidden', message: why })
      t.notOk(container(name), 'nothing was started')
    }
    await kubelet.close()
  },
)

t.test('what a node has no place for', async (t) => {
  const half = loadOf(pod('a', { requests: { cpu: '1500m', memory: '512Mi' }, hostPort: 8080 }))
  t.equal(verdict(pod('p', { requests: { cpu: '500m' } }), half), undefined, 'what fits')
  t.match(verdict(pod('p', { requests: { cpu: '600m', memory: '1Gi' } }), half), {
    reason: 'OutOfcpu',
    message: "Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000",
  })
  t.match(verdict(pod('p', { requests: { memory: '513Mi' } }), half), {
    reason: 'OutOfmemory',
    message: "Node didn't have enough resource: memory, requested: 537919488, used: 536870912, capacity: 1073741824",
  })
  t.match(verdict(pod('p'), loadOf(pod('a'), pod('b'), pod('c'))), {
    reason: 'OutOfpods',
    message: "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  })
  t.match(verdict(pod('p', { requests: { 'example.com/chip': '2' } })), { reason: 'OutOfexample.com/chip' })
  t.equal(verdict(pod('p', { requests: { 'example.com/unknown': '2' } })), undefined, 'a resource of somebody else')
  half.release('a')
  t.equal(verdict(pod('p', { requests: { cpu: '2' } }), half), undefined, 'what is over is free')
})

t.test('which node a pod wanted', async (t) => {
  const reason = (input: PodInput, on = node, load = loadOf()) => verdict(pod('p', input), load, on)?.reason
  t.equal(reason({ nodeSelector: { zone: 'a' } }), undefined)
  t.equal(reason({ nodeSelector: { zone: 'b' } }), 'NodeAffinity')
  t.equal(reason({ nodeName: 'n2' }), 'NodeName')
  t.equal(reason({ hostPort: 80 }, node, loadOf(pod('a', { hostPort: 80 }))), 'NodePorts')
  t.equal(reason({ hostPort: 81 }, node, loadOf(pod('a', { hostPort: 80 }))), undefined)
  t.equal(reason({ nodeSelector: { 'kubernetes.io/os': 'windows' } }), 'PodOSSelectorNodeLabelDoesNotMatch')
  t.equal(reason({ os: { name: 'windows' } }), 'PodOSNotSupported')
  const tainted = { ...node, spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } }
  t.equal(reason({}, tainted), 'TaintToleration')
  t.equal(reason({ tolerations: [{ operator: 'Exists' }] }, tainted), undefined)
  t.equal(reason({}, { ...node, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }), undefined)
  const fixed = pod('s', {})
  fixed.metadata.annotations = { 'kubernetes.io/config.source': 'file' }
  t.equal(verdict(fixed, loadOf(), tainted), undefined, 'taints do not keep a static pod out')
})

t.test('kernel parameters', async (t) => {
  const withSysctl = (name: string, spec: Partial<PodSpec> = {}) =>
    forbiddenSysctl({ sharesNetwork: false, sharesIpc: false, allowed: ['kernel/msg*', 'kernel.shmmax'] })(
      pod('p', { securityContext: { sysctls: [{ name, value: '1' }] }, ...spec }),
    )
  t.equal(withSysctl('net.ipv4.tcp_syncookies'), undefined)
  t.match(withSysctl('kernel.sem'), {
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "kernel.sem" not allowlisted',
  })
  t.equal(withSysctl('kernel/shm_rmid_forced'), undefined, 'slashes are dots')
  for (const name of ['kernel.msgmax', 'kernel/msgmni', 'kernel.shmmax']) t.equal(withSysctl(name), undefined, name)
  for (const name of ['kernel.shmmaxx', 'kernel.msgs', 'vm.swappiness']) t.ok(withSysctl(name), name)
  t.match(withSysctl('kernel/msgmax', { hostIPC: true }), {
    message: 'forbidden sysctl: "kernel.msgmax" not allowed with host ipc enabled',
  })
  t.match(withSysctl('net.ipv4.tcp_syncookies', { hostNetwork: true }), { reason: 'SysctlForbidden' })
  t.match(withSysctl('kernel.shm_rmid_forced', { hostIPC: true }), { reason: 'SysctlForbidden' })
})

t.test('pods that make room for a critical pod', async (t) => {
  const critical = pod('q', { priority: 2_000_000_000 })
  const loads = (...pods: Pod[]) => pods.map(podLoad)
  const names = (running: Pod[], cpu: number) =>
    victims(critical, loads(...running), new Map([['cpu', cpu]]))?.map(({ pod }) => pod.metadata.name)
  const small = pod('small', { requests: { cpu: '200m' } })
  const big = pod('big', { requests: { cpu: '900m' } })
  const guaranteed = pod('guaranteed', { requests: { cpu: '900m' } }, 'Guaranteed')
  t.same(names([small, big, guaranteed], 150), ['small'], 'the one that fits best')
  t.same(names([small, big, guaranteed], 800), ['big'], 'the worse class first')
  t.same(names([small, guaranteed], 800), ['guaranteed'], 'and only those that help')
  t.same(names([small, big], 1050), ['big', 'small'])
  t.equal(names([small], 300), undefined, 'where it would not do, nobody goes')
  t.equal(
    names([pod('other', { priority: 2_000_001_000, requests: { cpu: '2' } })], 300),
    undefined,
    'critical ones stay',
  )
})

t.test('the node takes pods, refuses them, and makes room', async (t) => {
  const clock = createVirtualClock()
  const told: string[] = []
  const seen: string[] = []
  const written = new Map<string, PodStatus>()
  const kills: { pod: Pod; options: KillOptions; gone: () => void }[] = []
  const names =
    (what: string) =>
    ({ metadata }: Pod) =>
      void seen.push(`${what} ${metadata.name}`)
  const admission = new PodAdmission(
    {
      clock,
      events: {
        event() {},
        podEvent: ({ metadata }, _container, type, reason, message) =>
          void told.push(`${metadata.name} ${type} ${reason}: ${message}`),
        flush: async () => {},
      },
      statuses: { forget() {} },
      reject: ({ metadata }, status) => void written.set(metadata.name ?? '', status),
      handlers: [forbiddenSysctl({ sharesNetwork: false, sharesIpc: false })],
      node: () => node,
      kill: (victim, options) => new Promise((gone) => kills.push({ pod: victim, options, gone })),
    },
    { onAdd: names('add'), onUpdate: names('update'), onReconcile: names('reconcile'), onRemove: names('remove') },
  )
  admission.onAdd(pod('a', { requests: { cpu: '1500m' } }))
  admission.onAdd(pod('b', { requests: { cpu: '1' } }))
  t.same(seen.splice(0), ['add a'])
  const message = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000"
  t.same(told.splice(0), [`b Warning OutOfcpu: ${message}`])
  t.match(written.get('b'), { phase: 'Failed', reason: 'OutOfcpu', message: `Pod was rejected: ${message}` })
  t.equal(written.get('b')?.containerStatuses, undefined, 'no container is spoken of')
  admission.onUpdate(pod('b', { requests: { cpu: '1' } }))
  admission.onRemove(pod('b'))
  t.same(seen.splice(0), [], 'nothing is done for a refused pod')

  const newest = pod('a', { requests: { cpu: '1500m' } })
  admission.onReconcile(newest)
  t.same(seen.splice(0), ['reconcile a'])
  const critical = pod('q', { priority: 2_000_000_000, requests: { cpu: '1' } })
  admission.onAdd(critical)
  t.same(told.splice(0), ['a Warning Preempting: Preempted in order to admit critical pod'])
  t.equal(kills[0]?.pod, newest, 'it is ended as it is now')
  t.equal(kills[0]?.options.cause, 'Preempted')
  t.match(kills[0]?.options.status?.({}), {
    phase: 'Failed',
    reason: 'Preempting',
    conditions: [{ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }],
  })
  admission.onUpdate(critical)
  t.same(seen.splice(0), [], 'it waits until the other is gone')
  kills[0]?.gone()
  await clock.advance(0)
  t.same(seen.splice(0), ['add q'])
  admission.onRemove(critical)
  admission.released('q')
  admission.onAdd(pod('c', { requests: { cpu: '2' } }))
  t.same(seen.splice(0), ['remove q', 'add c'])
  admission.onRemove(pod('c'))
  t.same(seen.splice(0), ['remove c'])
  admission.onAdd(pod('d', { requests: { cpu: '500m' } }))
  t.same(seen, ['add d'], 'a pod that was deleted by force holds nothing, although its containers still end')
  admission.released('c')
  admission.onAdd(pod('e', { requests: { cpu: '500m' } }))
  seen.splice(0)
  t.equal(admission.resize(pod('d', { requests: { cpu: '1500m' } })), undefined, 'there is room for more')
  t.same(admission.resize(pod('e', { requests: { cpu: '600m' } })), {
    reason: 'Deferred',
    message: "Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000",
  })
  t.same(admission.resize(pod('e', { requests: { cpu: '3' } })), {
    reason: 'Infeasible',
    message: "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000",
  })
  admission.released('d')
  t.equal(admission.resize(pod('e', { requests: { cpu: '2' } })), undefined, 'what others gave back')
})
