import type { DaemonSet } from '../../../shared/api/workloads/workloads.ts'
import { daemonSets, nodes, pods } from '../../../shared/client/resources.ts'
import type { Act, Acts, Stage } from './stage.ts'

const name = 'agent'

/** A DaemonSet with its pod on one node. */
class Agent {
  readonly #stage: Stage
  readonly #selector: Record<string, string>
  readonly node: string

  static async start(stage: Stage, updateStrategy?: object): Promise<Agent> {
    const node = await stage.node()
    const agent = new Agent(stage, node)
    const spec = { selector: { matchLabels: { app: name } }, updateStrategy, template: agent.#template(1) }
    await stage.create<DaemonSet>(daemonSets, name, { spec: spec as DaemonSet['spec'] })
    await agent.runs(1)
    return agent
  }

  private constructor(stage: Stage, node: { name: string; selector: Record<string, string> }) {
    this.#stage = stage
    this.node = node.name
    this.#selector = node.selector
  }

  changeTo(version: number, nodeSelector?: Record<string, string>): Promise<void> {
    return this.#stage.patch(daemonSets, name, { spec: { template: this.#template(version, nodeSelector) } })
  }

  /** Resolves when its pod is of the version, and the only one. */
  async runs(version: number): Promise<void> {
    await this.#stage.until(async () => {
      const [pod] = await this.#stage.readyPods()
      const isNew = pod?.spec.containers[0]?.env?.some((one) => one.name === 'VERSION' && one.value === `${version}`)
      return isNew && (await this.#stage.pods()).length === 1
    }, `version ${version} to run`)
  }

  async leaves(): Promise<void> {
    await this.#stage.until(async () => (await this.#stage.pods()).length === 0, 'its pod to be gone')
  }

  async unselect(): Promise<void> {
    const labels = Object.fromEntries(Object.keys(this.#selector).map((label) => [label, null]))
    await this.#stage.client.patch(nodes, { name: this.node }, { metadata: { labels } })
  }

  #template(version: number, nodeSelector = this.#selector) {
    return this.#stage.template(name, version, { nodeSelector })
  }
}

const changed =
  (updateStrategy?: object): Act<'DaemonSet'> =>
  async (stage) => {
    const agent = await Agent.start(stage, updateStrategy)
    await agent.changeTo(2)
    await agent.runs(2)
    return { pods: 1 }
  }

export const ofDaemonSets: Acts<'DaemonSet'> = {
  async 'node no longer selected'(stage) {
    const agent = await Agent.start(stage)
    await agent.unselect()
    await agent.leaves()
    return { pods: 1 }
  },
  async 'template no longer selects the node'(stage) {
    const agent = await Agent.start(stage)
    const [selected] = await stage.pods()
    await agent.changeTo(2, { ...selected?.spec.nodeSelector, 'example.com/none': 'such' })
    await agent.leaves()
    return { pods: 1 }
  },
  async 'second pod on a node'(stage) {
    const agent = await Agent.start(stage)
    await stage.pod('stray', { nodeName: agent.node })
    await stage.patch(pods, 'stray', { metadata: { labels: { app: name } } })
    await agent.runs(1)
    return { pods: 1 }
  },
  async 'NoExecute taint not tolerated'(stage) {
    const agent = await Agent.start(stage)
    await stage.tainted(agent.node, 'NoExecute', () => agent.leaves())
    return { pods: 1 }
  },
  'template changed, RollingUpdate': changed(),
  'template changed, with maxSurge': changed({
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
  }),
  async 'update undone'(stage) {
    const agent = await Agent.start(stage)
    for (const version of [2, 1]) {
      await agent.changeTo(version)
      await agent.runs(version)
    }
    return { pods: 2 }
  },
  async 'template changed, OnDelete'(stage) {
    const agent = await Agent.start(stage, { type: 'OnDelete' })
    await agent.changeTo(2)
    await stage.until(async () => {
      const { metadata, status } = await stage.get<DaemonSet>(daemonSets, name)
      return status?.observedGeneration === metadata.generation
    }, 'the change to be seen')
    return { pods: 0 }
  },
  async deleted(stage) {
    const agent = await Agent.start(stage)
    await stage.delete(daemonSets, name)
    await agent.leaves()
    return { pods: 1 }
  },
}
