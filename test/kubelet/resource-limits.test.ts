/** What containers and pods may use, by their manifests; the values of control groups, and where these can be made. */
import t from 'tap'
import { containerLimits, oomScoreAdjustment, podLimits } from '../../kubelet/containers/resource-limits.ts'
import { hierarchies } from '../../kubelet/runtime/process/cgroups/hierarchies.ts'
import { cpuWeight, settingsOf } from '../../kubelet/runtime/process/cgroups/settings.ts'
import type { Container, Pod } from '../../shared/api/types.ts'

const MiB = 1024 * 1024
type Resources = NonNullable<Container['resources']>

const podOf = (all: Resources[], qosClass: string, more: object = {}): Pod => ({
  metadata: { name: 'p' },
  spec: { containers: all.map((resources, i) => ({ name: `c${i}`, resources })), ...more },
  status: { qosClass },
})

t.test('a container', async (t) => {
  const table: [Resources, ReturnType<typeof containerLimits>][] = [
    [{}, { cpuShares: 2 }],
    [{ requests: { cpu: '250m', memory: '1Gi' } }, { cpuShares: 256 }],
    [
      { requests: { cpu: '1' }, limits: { cpu: '2', memory: '64Mi' } },
      { cpuShares: 1024, cpuQuotaUs: 200_000, memoryBytes: 64 * MiB },
    ],
    [{ limits: { cpu: '500m' } }, { cpuShares: 512, cpuQuotaUs: 50_000 }],
    [
      { requests: { cpu: '1m' }, limits: { cpu: '1m' } },
      { cpuShares: 2, cpuQuotaUs: 1_000 },
    ],
    [{ requests: { cpu: '0' }, limits: { cpu: '0', memory: '0' } }, { cpuShares: 2 }],
    [{ requests: { cpu: '1000' } }, { cpuShares: 262_144 }],
  ]
  for (const [resources, wanted] of table) t.same(containerLimits(resources), wanted, JSON.stringify(resources))
})

t.test('a pod', async (t) => {
  t.equal(podLimits(podOf([{}, { requests: { 'ephemeral-storage': '1Gi' } }], 'BestEffort')), undefined)
  t.same(podLimits(podOf([{}], 'BestEffort'), { pids: 100 }), { qos: 'BestEffort', cpuShares: 2, pids: 100 })
  const one = { requests: { cpu: '100m', memory: '8Mi' }, limits: { cpu: '200m', memory: '16Mi' } }
  t.same(podLimits(podOf([one, one], 'Burstable')), {
    qos: 'Burstable',
    cpuShares: 204,
    cpuQuotaUs: 40_000,
    memoryBytes: 32 * MiB,
  })
  t.same(
    podLimits(podOf([one, {}], 'Burstable')),
    { qos: 'Burstable', cpuShares: 102 },
    'a container without a limit may have what the node has',
  )
  const large = { name: 'first', resources: { limits: { cpu: '1', memory: '1Gi' } } }
  t.match(podLimits(podOf([one], 'Burstable', { initContainers: [large] })), { memoryBytes: 1024 * MiB })
  t.match(podLimits(podOf([one], 'Burstable', { resources: { limits: { memory: '10Mi' } } })), {
    memoryBytes: 10 * MiB,
  })
  t.match(podLimits(podOf([one], 'Burstable'), { resources: () => ({ limits: { memory: '1Mi' } }) }), {
    memoryBytes: MiB,
  })
})

t.test('which container ends first when the machine is out of memory', async (t) => {
  const score = (qosClass: string, resources: Resources, more?: object): number =>
    oomScoreAdjustment(podOf([resources], qosClass, more), { name: 'c', resources }, 1000 * MiB)
  t.equal(score('BestEffort', {}), 1000)
  t.equal(score('Guaranteed', { limits: { cpu: '1', memory: '1Mi' } }), -997)
  t.equal(score('Burstable', { requests: { memory: '100Mi' } }), 900)
  t.equal(score('Burstable', { requests: { cpu: '1' } }), 999)
  t.equal(score('Burstable', { requests: { memory: '1000Mi' } }), 3)
  t.equal(score('BestEffort', {}, { priorityClassName: 'system-node-critical' }), -997)
})

t.test('values of both versions', async (t) => {
  t.same([2, 102, 512, 1024, 262_144].map(cpuWeight), [1, 17, 59, 100, 10_000])
  const limits = { cpuShares: 1024, cpuQuotaUs: 50_000, memoryBytes: MiB, pids: 7 }
  const values = (version: 1 | 2, of: typeof limits | { cpuShares: number }) =>
    settingsOf(version, of).map(({ file, value }) => `${file} ${value}`)
  t.same(values(1, limits), [
    'cpu.shares 1024',
    'cpu.cfs_period_us 100000',
    'cpu.cfs_quota_us 50000',
    'memory.limit_in_bytes 1048576',
    'pids.max 7',
  ])
  t.same(values(2, limits), ['cpu.weight 100', 'cpu.max 50000 100000', 'memory.max 1048576', 'pids.max 7'])
  t.same(values(2, { cpuShares: 2 }), ['cpu.weight 1', 'cpu.max max 100000', 'memory.max max', 'pids.max max'])
})

t.test('where groups can be made', async (t) => {
  const line = (place: string, type: string, options: string, root = '/') =>
    `30 20 0:26 ${root} ${place} rw,nosuid - ${type} ${type} rw,${options}`
  const unified = line('/sys/fs/cgroup', 'cgroup2', 'nsdelegate')
  const folders = (mountinfo: string[], groups: string) =>
    hierarchies(mountinfo.join('\n'), groups)?.candidates.map((one) =>
      [...one].map(([name, folder]) => `${name} ${folder}`),
    )
  t.same(
    folders([unified], '0::/user.slice/me/shell\n')?.map(([cpu]) => cpu),
    ['', '/user.slice', '/user.slice/me', '/user.slice/me/shell'].map((end) => `cpu /sys/fs/cgroup${end}`),
    'version 2: at the top, or as near to it as possible',
  )
  t.same(
    folders([unified], '0::/../other\n')?.map(([cpu]) => cpu),
    ['cpu /sys/fs/cgroup'],
    'outside of what is seen',
  )
  const first = [
    line('/sys/fs/cgroup/cpu,cpuacct', 'cgroup', 'cpu,cpuacct'),
    line('/sys/fs/cgroup/memory', 'cgroup', 'memory', '/docker/abc'),
    line('/sys/fs/cgroup/unified', 'cgroup2', 'nsdelegate'),
  ]
  t.same(folders(first, '5:memory:/docker/abc/job\n3:cpu,cpuacct:/\n0::/\n'), [
    ['cpu /sys/fs/cgroup/cpu,cpuacct', 'cpuacct /sys/fs/cgroup/cpu,cpuacct', 'memory /sys/fs/cgroup/memory/job'],
  ])
  t.equal(folders([line('/sys/fs/cgroup/cpu', 'cgroup', 'cpu')], ''), undefined)
})
