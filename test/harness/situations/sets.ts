import type { Pod } from '../../../shared/api/types.ts'
import type { ReplicaSet, ReplicationController } from '../../../shared/api/workloads/workloads.ts'
import type { Resource } from '../../../shared/client/client.ts'
import { deployments, pods, replicaSets, replicationControllers } from '../../../shared/client/resources.ts'
import { Web } from './deployment.ts'
import type { Acts, Stage } from './stage.ts'

const name = 'web'

async function start(stage: Stage, resource: Resource, replicas = 3): Promise<void> {
  const labels = { app: name }
  const selector = resource === replicaSets ? { matchLabels: labels } : labels
  const spec = { replicas, selector, template: stage.template(name) }
  await stage.create<ReplicaSet | ReplicationController>(resource, name, { spec: spec as ReplicaSet['spec'] })
  await stage.until(async () => (await stage.readyPods()).length === replicas, 'its pods to be ready')
}

const leaves = (stage: Stage, count: number): Promise<unknown> =>
  stage.until(async () => (await stage.pods()).length === count, `${count} pods to be left`)

async function scaledDown(stage: Stage, resource: Resource): Promise<{ pods: number }> {
  await start(stage, resource)
  await stage.patch(resource, name, { spec: { replicas: 1 } })
  await leaves(stage, 1)
  return { pods: 2 }
}

async function deleted(stage: Stage, resource: Resource): Promise<{ pods: number }> {
  await start(stage, resource)
  await stage.delete(resource, name)
  await leaves(stage, 0)
  return { pods: 3 }
}

export const ofReplicaSets: Acts<'ReplicaSet'> = {
  'scaled down': (stage) => scaledDown(stage, replicaSets),
  async 'more pods than wanted'(stage) {
    await start(stage, replicaSets, 1)
    await stage.pod('stray')
    await stage.patch(pods, 'stray', { metadata: { labels: { app: name } } })
    await leaves(stage, 1)
    return { pods: 1 }
  },
  async 'template changed'(stage) {
    await start(stage, replicaSets)
    await stage.patch(replicaSets, name, { spec: { template: stage.template(name, 2) } })
    await stage.until(async () => {
      const { metadata, status } = await stage.get<ReplicaSet>(replicaSets, name)
      return status?.observedGeneration === metadata.generation
    }, 'the change to be seen')
    return { pods: 0 }
  },
  async 'scaled down by hand, under a Deployment'(stage) {
    const web = await new Web(stage).start()
    const uids = async (): Promise<Set<string | undefined>> =>
      new Set((await stage.readyPods()).map(({ metadata }) => metadata.uid))
    const before = await uids()
    // The Deployment may be quicker than the set's own loop.
    await stage.until(async () => {
      await stage.patch(replicaSets, (await web.sets())[0]?.metadata.name ?? '', { spec: { replicas: 0 } })
      await web.rolledOut()
      return before.isDisjointFrom(await uids())
    }, 'all pods to be others')
    return { pods: (await stage.until(() => stage.records(), 'records')).length }
  },
  deleted: (stage) => deleted(stage, replicaSets),
  async 'deleted by hand, under a Deployment'(stage) {
    const web = await new Web(stage).start()
    const [set] = await web.sets()
    await stage.delete(replicaSets, set?.metadata.name ?? '')
    const isOther = ({ metadata }: Pod): boolean => metadata.ownerReferences?.[0]?.uid !== set?.metadata.uid
    await stage.until(async () => {
      const here = await stage.pods()
      return here.length === 2 && here.every(isOther)
    }, 'pods of another ReplicaSet')
    await stage.get(deployments, web.name)
    return { pods: 2 }
  },
}

export const ofReplicationControllers: Acts<'ReplicationController'> = {
  'scaled down': (stage) => scaledDown(stage, replicationControllers),
  deleted: (stage) => deleted(stage, replicationControllers),
}
