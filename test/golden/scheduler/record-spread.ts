// Asks a real kube-scheduler where it places pods of workloads on nodes with images: node test/golden/scheduler/record-spread.ts KUBECONFIG [COUNT] > spread.json
// The cluster has an API server and a scheduler, and no nodes and no controllers.
import type { Node, ObjectMeta, Pod } from '../../../shared/api/types.ts'
import type { Client, Resource } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'
import {
  namespaces,
  nodes,
  pods,
  replicaSets,
  replicationControllers,
  serviceAccounts,
  services,
  statefulSets,
} from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { type PlacementOutcome, TEAMS } from '../../harness/placement-situations.ts'
import { spreadSituation } from '../../harness/spread-situations.ts'
import { until } from '../../harness/until.ts'

const [, , kubeconfig = '', count = '100'] = process.argv
const client: Client = createRestClient({ ...(await loadKubeconfig(kubeconfig)), clock: realClock })

async function createNode({ metadata, spec, status }: Node): Promise<void> {
  await client.create<Node>(nodes, { metadata })
  await client.patch(nodes, { name: metadata.name! }, { status }, { type: 'merge', subresource: 'status' })
  await client.patch(nodes, { name: metadata.name! }, { spec: { taints: spec?.taints ?? null } }, { type: 'merge' })
}

/** Pods are scheduled a second after all is created: then the scheduler's caches have it. */
async function outcome(seed: number): Promise<PlacementOutcome> {
  const situation = spreadSituation(seed)
  const { nodes: wanted, pods: running, incoming } = situation
  const others: [Resource, { metadata: ObjectMeta }][] = [
    ...situation.services.map((one): [Resource, typeof one] => [services, one]),
    ...situation.replicationcontrollers.map((one): [Resource, typeof one] => [replicationControllers, one]),
    ...situation.replicasets.map((one): [Resource, typeof one] => [replicaSets, one]),
    ...situation.statefulsets.map((one): [Resource, typeof one] => [statefulSets, one]),
  ]
  await Promise.all(wanted.map(createNode))
  await Promise.all([
    ...running.map((pod) => client.create<Pod>(pods, pod)),
    ...others.map(([resource, object]) => client.create(resource, object)),
  ])
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
  await Promise.all([
    ...[...running, incoming].map(({ metadata }) =>
      client.delete(pods, { namespace: metadata.namespace, name: metadata.name! }, { gracePeriodSeconds: 0 }),
    ),
    ...others.map(([resource, { metadata }]) =>
      client.delete(resource, { namespace: metadata.namespace, name: metadata.name! }, { propagationPolicy: 'Background' }),
    ),
    ...wanted.map(({ metadata }) => client.delete(nodes, { name: metadata.name! })),
  ])
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
