import { quantityValue } from '../../../shared/api/quantities/quantity.ts'
import type { Node, Pod } from '../../../shared/api/types.ts'
import { namespaces, nodes, pods } from '../../../shared/client/resources.ts'
import type { Acts, Stage } from './stage.ts'

const name = 'web'

const gone = (stage: Stage): Promise<unknown> =>
  stage.until(async () => (await stage.pods()).length === 0, 'the pod to be gone')
const ended = (stage: Stage): Promise<unknown> =>
  stage.until(async () => (await stage.get<Pod>(pods, name)).status?.phase === 'Failed', 'the pod to have failed')

export const ofPods: Acts<'Pod'> = {
  async deleted(stage) {
    await stage.pod(name)
    await stage.delete(pods, name)
    await gone(stage)
    return { pods: 1 }
  },
  async evicted(stage) {
    await stage.pod(name)
    await stage.evict(name)
    await gone(stage)
    return { pods: 1 }
  },
  async 'activeDeadlineSeconds exceeded'(stage) {
    await stage.pod(name)
    await stage.patch(pods, name, { spec: { activeDeadlineSeconds: 1 } })
    await ended(stage)
    return { pods: 1 }
  },
  async 'a probe fails, or a postStart hook'(stage) {
    const livenessProbe = { exec: { command: ['false'] }, failureThreshold: 1, periodSeconds: 1 }
    await stage.pod(name, { restartPolicy: 'Never' }, { livenessProbe })
    await ended(stage)
    return { pods: 1 }
  },
}

export const ofNamespaces: Acts<'Namespace'> = {
  async deleted(stage) {
    await stage.pod('one')
    await stage.pod('two')
    const reason = stage.given && { reason: stage.given }
    await stage.client.delete(namespaces, { name: stage.namespace }, { ...reason })
    await gone(stage)
    return { pods: 2 }
  },
}

export const ofNodes: Acts<'Node'> = {
  async 'NoExecute taint not tolerated'(stage) {
    const node = await stage.node()
    await stage.pod(name, { nodeSelector: node.selector })
    await stage.tainted(node.name, 'NoExecute', () => gone(stage))
    return { pods: 1 }
  },
  async 'tolerationSeconds over'(stage) {
    const node = await stage.node()
    const tolerations = [{ key: 'example.com/stage', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }]
    await stage.pod(name, { nodeSelector: node.selector, tolerations })
    await stage.tainted(node.name, 'NoExecute', () => gone(stage))
    return { pods: 1 }
  },
  async 'not ready, or unreachable'(stage) {
    const node = await stage.node()
    await stage.pod(name, { nodeSelector: node.selector })
    await stage.askKubelet(node.name, { method: 'POST', path: '/debug/node/lose' })
    const isGivenUp = async () => (await stage.get<Pod>(pods, name)).metadata.deletionTimestamp
    await stage.until(isGivenUp, 'the pod to be given up', '1m')
    await stage.askKubelet(node.name, { method: 'POST', path: '/debug/node/return' })
    await gone(stage)
    return { pods: 1 }
  },
  async 'NoSchedule taint, or cordoned'(stage) {
    const node = await stage.node()
    await stage.pod(name, { nodeSelector: node.selector })
    const cordon = (unschedulable: boolean) =>
      stage.client.patch(nodes, { name: node.name }, { spec: { unschedulable } })
    await stage.tainted(node.name, 'NoSchedule', () => stage.cluster.clock.advance('1m'))
    await cordon(true)
    await stage.cluster.clock.advance('1m')
    await cordon(false)
    return { pods: 0 }
  },
  async deleted(stage) {
    const lost = { metadata: { name: `lost-${stage.namespace}` } }
    await stage.client.create<Node>(nodes, lost)
    const template = stage.template(name, 1, { nodeName: lost.metadata.name })
    await stage.create<Pod>(pods, name, { spec: template.spec! })
    await stage.client.delete(nodes, lost.metadata)
    await gone(stage)
    return { pods: 1 }
  },
}

export const ofScheduler: Acts<'scheduler'> = {
  async preemption(stage) {
    const node = await stage.node()
    const { status } = await stage.client.get<Node>(nodes, { name: node.name })
    // The node has room for one such pod, and not for two. Of processors, since no pod of another situation asks for them.
    const all = quantityValue(status?.allocatable?.cpu ?? '0')
    const resources = { requests: { cpu: `${Math.floor(all * 600)}m` } }
    await stage.pod(name, { nodeSelector: node.selector }, { resources })
    const important = { nodeSelector: node.selector, priorityClassName: 'system-cluster-critical' }
    const template = stage.template('important', 1, important, { resources })
    await stage.create<Pod>(pods, 'important', { spec: template.spec! })
    const isGone = async () => (await stage.pods()).every(({ metadata }) => metadata.name !== name)
    await stage.until(isGone, 'the preempted pod to be gone')
    return { pods: 1 }
  },
}
