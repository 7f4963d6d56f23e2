// Asks a real kube-scheduler where it places pods in generated situations: node test/golden/scheduler/record-placement.ts KUBECONFIG [COUNT] > placement.json
// The cluster has an API server and a scheduler, and no nodes.
import type { Node, Pod } from '../../../shared/api/types.ts'
import type { Client } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'
import { namespaces, nodes, pods } from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { type PlacementOutcome, placementSituation, TEAMS } from '../../harness/placement-situations.ts'
import { until } from '../../harness/until.ts'

const [, , kubeconfig = '', count = '100'] = process.argv
const client: Client = createRestClient({ ...(await loadKubeconfig(kubeconfig)), clock: realClock })
const serviceAccounts = { group: '', version: 'v1', plural: 'serviceaccounts' }
const allocatable = { cpu: '1000', memory: '1000Gi', pods: '110' }

async function createNode({ metadata, spec }: Pick<Node, 'metadata' | 'spec'>): Promise<void> {
  await client.create<Node>(nodes, { metadata })
  const status = { capacity: allocatable, allocatable, conditions: [{ type: 'Ready', status: 'True' }] }
  await client.patch(nodes, { name: metadata.name! }, { status }, { type: 'merge', subresource: 'status' })
  await client.patch(nodes, { name: metadata.name! }, { spec: { taints: spec?.taints ?? null } }, { type: 'merge' })
}

/** Pods are scheduled a second after all is created: then the scheduler's caches have it. */
async function outcome(seed: number): Promise<PlacementOutcome> {
  const { nodes: wanted, pods: running, incoming } = placementSituation(seed)
  await Promise.all(wanted.map(createNode))
  await Promise.all(running.map((pod) => client.create<Pod>(pods, pod)))
  await realClock.sleep(1_000)
  const { name = '', namespace } = incoming.metadata
  await client.create<Pod>(pods, incoming)
  const { spec, status } = await until(
    async () => {
      const pod = await client.get<Pod>(pods, { namespace, name })
      return pod.status?.conditions?.some(({ type }) => type === 'PodScheduled') ? pod : undefined
    },
    { what: `a decision on situation ${seed}` },
  )
  await Promise.all(
    [...running, incoming].map(({ metadata }) =>
      client.delete(pods, { namespace: metadata.namespace, name: metadata.name! }, { gracePeriodSeconds: 0 }),
    ),
  )
  await Promise.all(wanted.map(({ metadata }) => client.delete(nodes, { name: metadata.name! })))
  if (spec.nodeName) return { node: spec.nodeName }
  return { message: status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '' }
}

for (const [name, labels] of Object.entries(TEAMS)) {
  await client.create(namespaces, { metadata: { name, labels } })
  await client.create(serviceAccounts, { metadata: { name: 'default', namespace: name } })
}
const rows: string[] = []
for (let seed = 1; seed <= Number(count); seed++) rows.push(JSON.stringify({ seed, ...(await outcome(seed)) }))
console.log(`[\n${rows.join(',\n')}\n]`)
await client.close()
