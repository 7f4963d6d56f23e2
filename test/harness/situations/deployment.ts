import type { Deployment, ReplicaSet } from '../../../shared/api/workloads/workloads.ts'
import { deployments, replicaSets } from '../../../shared/client/resources.ts'
import { type Act, type Acts, neverReady, type Stage } from './stage.ts'

type Strategy = Deployment['spec']['strategy']
const surge = (maxSurge: number): Strategy =>
  ({ type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable: 0 } }) as Strategy
const recreate: Strategy = { type: 'Recreate' }

/** A Deployment, and what is done to it. */
export class Web {
  readonly #stage: Stage
  readonly name: string

  constructor(stage: Stage, name = 'web') {
    this.#stage = stage
    this.name = name
  }

  /** Resolves when all pods are ready. */
  async start({ replicas = 2, strategy = surge(1) }: { replicas?: number; strategy?: Strategy } = {}): Promise<this> {
    const selector = { matchLabels: { app: this.name } }
    const template = this.#stage.template(this.name)
    await this.#stage.create<Deployment>(deployments, this.name, { spec: { replicas, strategy, selector, template } })
    await this.rolledOut()
    return this
  }

  patch(spec: object): Promise<void> {
    return this.#stage.patch(deployments, this.name, { spec })
  }

  changeTo(version: number, more: object = {}): Promise<void> {
    return this.patch({ ...more, template: this.#stage.template(this.name, version) })
  }

  async rolledOut(): Promise<void> {
    await this.#stage.until(async () => {
      const { metadata, spec, status } = await this.#stage.get<Deployment>(deployments, this.name)
      const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas]
      const isSeen = status?.observedGeneration === metadata.generation
      const isDone = counts.every((count) => (count ?? 0) === spec.replicas)
      return isSeen && isDone && (await this.#pods()) === spec.replicas
    }, `${this.name} to be rolled out`)
  }

  /** Begins a rollout that cannot finish; resolves when `count` pods of the new version run. */
  async getStuck(count: number): Promise<void> {
    const before = await this.#pods()
    await this.patch({ template: this.#stage.template(this.name, 2, neverReady) })
    await this.#stage.until(async () => (await this.#pods()) === before + count, 'the new pods')
    await this.#stage.until(
      async () => (await this.#stage.pods()).every(({ status }) => status?.phase === 'Running'),
      'all pods to run',
    )
  }

  async leaves(count: number): Promise<void> {
    await this.#stage.until(async () => (await this.#pods()) === count, `${count} pods to be left`)
  }

  /** Resolves when the controller has seen the last change. */
  async seen(): Promise<void> {
    await this.#stage.until(async () => {
      const { metadata, status } = await this.#stage.get<Deployment>(deployments, this.name)
      return status?.observedGeneration === metadata.generation
    }, `${this.name} to be seen`)
  }

  async sets(): Promise<ReplicaSet[]> {
    const { items } = await this.#stage.client.list<ReplicaSet>(replicaSets, {
      namespace: this.#stage.namespace,
      labelSelector: `app=${this.name}`,
    })
    return items
  }

  async #pods(): Promise<number> {
    return (await this.#stage.pods()).filter(({ metadata }) => metadata.labels?.app === this.name).length
  }
}

const changed =
  (strategy: Strategy): Act<'Deployment'> =>
  async (stage) => {
    const web = await new Web(stage).start({ strategy })
    await web.changeTo(2)
    await web.rolledOut()
    return { pods: 2 }
  }

const undone =
  (strategy: Strategy): Act<'Deployment'> =>
  async (stage) => {
    await changed(strategy)(stage)
    const web = new Web(stage)
    await web.changeTo(1)
    await web.rolledOut()
    return { pods: 4 }
  }

/** With both strategies: two pods leave, then the third is replaced. */
async function changedAndScaledDown(stage: Stage): Promise<void> {
  for (const [name, strategy] of Object.entries({ rolling: surge(1), recreated: recreate })) {
    const web = await new Web(stage, name).start({ replicas: 3, strategy })
    await web.changeTo(2, { replicas: 1 })
    await web.rolledOut()
  }
}

export const ofDeployments: Acts<'Deployment'> = {
  async 'scaled down'(stage) {
    const web = await new Web(stage).start({ replicas: 3 })
    await web.patch({ replicas: 1 })
    await web.leaves(1)
    return { pods: 2 }
  },
  async 'scaled down in the middle of a rollout'(stage) {
    const web = await new Web(stage).start({ replicas: 3 })
    await web.getStuck(1)
    await web.patch({ replicas: 0 })
    await web.leaves(0)
    return { pods: 4 }
  },
  async 'scaled down while paused'(stage) {
    const web = await new Web(stage).start({ replicas: 6, strategy: surge(2) })
    await web.getStuck(2)
    await web.patch({ paused: true })
    await web.seen()
    await web.patch({ replicas: 3 })
    await web.leaves(5)
    const sizes = (await web.sets()).map(({ spec }) => spec.replicas ?? 0)
    if (sizes.includes(0)) throw new Error(`not in proportion: ${sizes}`)
    return { pods: 3 }
  },
  'template changed, RollingUpdate': changed(surge(1)),
  'template changed, Recreate': changed(recreate),
  'rollout undone, RollingUpdate': undone(surge(1)),
  'rollout undone, Recreate': undone(recreate),
  async 'rollout that never gets ready is undone'(stage) {
    const web = await new Web(stage).start()
    await web.getStuck(1)
    const { spec } = stage.template(web.name, 1)
    await web.patch({ template: { spec: { ...spec, readinessGates: null } } })
    await web.rolledOut()
    return { pods: 1 }
  },
  async 'template changed and scaled down in one write: pods beyond the new size'(stage) {
    await changedAndScaledDown(stage)
    return { pods: 4, others: { 'template changed and scaled down in one write: the other pods': 2 } }
  },
  async 'template changed and scaled down in one write: the other pods'(stage) {
    await changedAndScaledDown(stage)
    return { pods: 2, others: { 'template changed and scaled down in one write: pods beyond the new size': 4 } }
  },
  async paused(stage) {
    const web = await new Web(stage).start()
    await web.changeTo(2, { paused: true })
    await web.seen()
    return { pods: 0 }
  },
  async deleted(stage) {
    for (const policy of ['Background', 'Foreground'] as const) {
      const web = await new Web(stage).start()
      await stage.delete(deployments, web.name, policy)
      await web.leaves(0)
      await stage.until(async () => (await web.sets()).length === 0, 'the ReplicaSets to be gone')
    }
    return { pods: 4 }
  },
  async 'deleted in the middle of a rollout'(stage) {
    const web = await new Web(stage).start()
    await web.getStuck(1)
    await stage.delete(deployments, web.name)
    await web.leaves(0)
    return { pods: 3 }
  },
  async 'deleted, dependents orphaned'(stage) {
    const web = await new Web(stage).start()
    await stage.delete(deployments, web.name, 'Orphan')
    const isOrphan = ({ metadata }: ReplicaSet): boolean => (metadata.ownerReferences ?? []).length === 0
    await stage.until(async () => (await web.sets()).every(isOrphan), 'the ReplicaSet to be an orphan')
    return { pods: 0 }
  },
}
