import type { StatefulSet } from '../../../shared/api/workloads/workloads.ts'
import { statefulSets } from '../../../shared/client/resources.ts'
import { type Acts, neverReady, type Stage } from './stage.ts'

const name = 'db'

async function start(stage: Stage, spec: Partial<StatefulSet['spec']> = {}): Promise<void> {
  const selector = { matchLabels: { app: name } }
  const whole = { replicas: 3, serviceName: name, selector, template: stage.template(name), ...spec }
  await stage.create<StatefulSet>(statefulSets, name, { spec: whole as StatefulSet['spec'] })
  await rolledOut(stage)
}

async function rolledOut(stage: Stage): Promise<void> {
  await stage.until(async () => {
    const { metadata, spec, status } = await stage.get<StatefulSet>(statefulSets, name)
    const counts = [status?.replicas, status?.readyReplicas, (await stage.pods()).length]
    const isUpdated = status?.currentRevision === status?.updateRevision
    const isSeen = status?.observedGeneration === metadata.generation
    return isSeen && isUpdated && counts.every((count) => (count ?? 0) === spec.replicas)
  }, 'the StatefulSet to be rolled out')
}

const patch = (stage: Stage, spec: object): Promise<void> => stage.patch(statefulSets, name, { spec })
const names = async (stage: Stage): Promise<string> =>
  (await stage.pods())
    .map(({ metadata }) => metadata.name)
    .sort()
    .join()

async function changedAndScaledDown(stage: Stage): Promise<void> {
  await start(stage)
  await patch(stage, { replicas: 1, template: stage.template(name, 2) })
  await rolledOut(stage)
}

export const ofStatefulSets: Acts<'StatefulSet'> = {
  async 'scaled down'(stage) {
    await start(stage)
    await patch(stage, { replicas: 1 })
    await rolledOut(stage)
    return { pods: 2 }
  },
  async 'scaled down in the middle of an update'(stage) {
    await start(stage, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } })
    await patch(stage, { template: stage.template(name, 2, neverReady) })
    const isStuck = async (): Promise<boolean> =>
      (await stage.pods()).some(({ spec, status }) => spec.readinessGates && status?.phase === 'Running')
    await stage.until(isStuck, 'the highest pod to be updated')
    await patch(stage, { replicas: 1 })
    await stage.until(async () => (await names(stage)) === 'db-0', 'the lowest pod to be left')
    return { pods: 2, others: { 'template changed, RollingUpdate': 1 } }
  },
  async 'first ordinal raised'(stage) {
    await start(stage)
    await patch(stage, { ordinals: { start: 1 } })
    await stage.until(async () => (await names(stage)) === 'db-1,db-2,db-3', 'the numbers to be others')
    return { pods: 1 }
  },
  async 'template changed, RollingUpdate'(stage) {
    await start(stage)
    await patch(stage, { template: stage.template(name, 2) })
    await rolledOut(stage)
    return { pods: 3 }
  },
  async 'update undone'(stage) {
    await start(stage)
    for (const version of [2, 1]) {
      await patch(stage, { template: stage.template(name, version) })
      await rolledOut(stage)
    }
    return { pods: 6 }
  },
  async 'template changed and scaled down in one write: pods beyond the new size'(stage) {
    await changedAndScaledDown(stage)
    return { pods: 2, others: { 'template changed and scaled down in one write: the other pods': 1 } }
  },
  async 'template changed and scaled down in one write: the other pods'(stage) {
    await changedAndScaledDown(stage)
    return { pods: 1, others: { 'template changed and scaled down in one write: pods beyond the new size': 2 } }
  },
  async 'template changed, OnDelete'(stage) {
    await start(stage, { updateStrategy: { type: 'OnDelete' } })
    await patch(stage, { template: stage.template(name, 2) })
    await stage.until(async () => {
      const { status } = await stage.get<StatefulSet>(statefulSets, name)
      return status?.currentRevision !== status?.updateRevision
    }, 'the change to be seen')
    return { pods: 0 }
  },
  async deleted(stage) {
    await start(stage)
    await stage.delete(statefulSets, name)
    await stage.until(async () => (await stage.pods()).length === 0, 'its pods to be gone')
    return { pods: 3 }
  },
}
