// Asks a real kube-scheduler which pods it preempts in generated situations: node test/golden/scheduler/record.ts KUBECONFIG [COUNT] > preemption.json
// The cluster has an API server and a scheduler, and nothing that writes the status of nodes, pods or disruption budgets.
import { isStatus } from '../../../shared/api/status/status-error.ts'
import type { Node, Pod, PodDisruptionBudget } from '../../../shared/api/types.ts'
import type { Client } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'
import { namespaces, nodes, podDisruptionBudgets, pods } from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import {
  type PodOnNode,
  type PreemptionOutcome,
  type PreemptionSituation,
  PREEMPTORS,
  PRIORITIES,
  preemptionSituation,
  UNIT,
} from '../../harness/preemption-situations.ts'
import { until } from '../../harness/until.ts'

const [, , kubeconfig = '', count = '100'] = process.argv
const client: Client = createRestClient({ ...(await loadKubeconfig(kubeconfig)), clock: realClock })
const priorityClasses = { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' }
const run = process.pid.toString(36)
const seeds = Array.from({ length: Number(count) }, (_, i) => i + 1)
const namespaceOf = (seed: number): string => `preemption-${run}-${seed}`
const className = (priority: number, policy = ''): string => `priority-${priority + 1000}${policy.toLowerCase()}`
const PREEMPTOR = 'preemptor'

function podOf(seed: number, pod: Partial<PodOnNode> & { name: string; priority: number; policy?: string; spec?: object }): Pod {
  const resources = { requests: { [UNIT]: `${pod.units}` }, limits: { [UNIT]: `${pod.units}` } }
  return {
    metadata: { namespace: namespaceOf(seed), name: pod.name, ...(pod.app && { labels: { app: pod.app } }) },
    spec: {
      priorityClassName: className(pod.priority, pod.policy),
      containers: [{ name: 'c', image: 'none', resources }],
      ...pod.spec,
    },
  }
}

async function prepare(seed: number, { nodes: wanted, budgets }: PreemptionSituation): Promise<void> {
  const namespace = namespaceOf(seed)
  await client.create(namespaces, { metadata: { name: namespace } })
  for (const [n, { units, pods: running }] of wanted.entries()) {
    const name = `${namespace}-${n}`
    await client.create<Node>(nodes, { metadata: { name, labels: { situation: namespace } } })
    await client.patch(nodes, { name }, { spec: { taints: null } }, { type: 'merge' })
    const allocatable = { cpu: '4', memory: '8Gi', pods: '110', [UNIT]: `${units}` }
    const status = { capacity: allocatable, allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
    await client.patch(nodes, { name }, { status }, { type: 'merge', subresource: 'status' })
    for (const pod of running) {
      await client.create<Pod>(pods, podOf(seed, { ...pod, spec: { nodeName: name } }))
      const startTime = toTime(Date.now() - pod.seconds * 1000)
      const ref = { namespace, name: pod.name }
      await client.patch(pods, ref, { status: { phase: 'Running', startTime } }, { type: 'merge', subresource: 'status' })
    }
  }
  for (const { app, allowed, disrupted = [] } of budgets) {
    const spec = { maxUnavailable: 1, selector: { matchLabels: { app } } }
    await client.create<PodDisruptionBudget>(podDisruptionBudgets, { metadata: { namespace, name: app }, spec })
    const disruptedPods = Object.fromEntries(disrupted.map((name) => [name, toTime(Date.now())]))
    const counts = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: allowed, disruptedPods }
    await client.patch(podDisruptionBudgets, { namespace, name: app }, { status: counts }, { type: 'merge', subresource: 'status' })
  }
}

async function outcome(seed: number, { preemptor }: PreemptionSituation): Promise<PreemptionOutcome> {
  const namespace = namespaceOf(seed)
  const spec = { nodeSelector: { situation: namespace } }
  await client.create<Pod>(pods, podOf(seed, { name: PREEMPTOR, ...preemptor, spec }))
  const get = () => client.get<Pod>(pods, { namespace, name: PREEMPTOR })
  const decided = await until(
    async () => {
      const pod = await get()
      return pod.status?.conditions?.some(({ type }) => type === 'PodScheduled') ? pod : undefined
    },
    { what: `a decision on situation ${seed}` },
  )
  const { nominatedNodeName } = decided.status ?? {}
  const isVictim = ({ status }: Pod): boolean => status?.conditions?.some(({ type }) => type === 'DisruptionTarget') ?? false
  const victims = async () => (await client.list<Pod>(pods, { namespace })).items.filter(isVictim).map(({ metadata }) => metadata.name!)
  if (!nominatedNodeName) return { victims: await victims() }
  await until(async () => (await victims()).length > 0, { what: `the victims of situation ${seed}` })
  // All victims of one preemption are deleted at once.
  await realClock.sleep(1_000)
  return { node: Number(nominatedNodeName.split('-').at(-1)), victims: (await victims()).sort() }
}

for (const value of [...PRIORITIES, ...PREEMPTORS]) {
  for (const preemptionPolicy of [undefined, 'Never']) {
    const metadata = { name: className(value, preemptionPolicy) }
    await client.create(priorityClasses, { metadata, value, preemptionPolicy }).catch((error: unknown) => {
      if (!isStatus(error, 'AlreadyExists')) throw error
    })
  }
}
const situations = seeds.map((seed) => ({ seed, situation: preemptionSituation(seed) }))
for (const { seed, situation } of situations) await prepare(seed, situation)
// What was written last is in the scheduler's caches by then.
await realClock.sleep(5_000)
const outcomes = await Promise.all(
  situations.map(async ({ seed, situation }) => {
    return { seed, ...(await outcome(seed, situation)) }
  }),
)
console.log(`[\n${outcomes.map((row) => JSON.stringify(row)).join(',\n')}\n]`)
await client.close()
