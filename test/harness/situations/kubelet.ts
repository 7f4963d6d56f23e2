import type { Node, Pod } from '../../../shared/api/types.ts'
import { nodes, pods } from '../../../shared/client/resources.ts'
import type { Acts, Stage } from './stage.ts'

const name = 'web'

const failed = (stage: Stage): Promise<unknown> =>
  stage.until(async () => (await stage.get<Pod>(pods, name)).status?.phase === 'Failed', 'the pod to have failed')

/** Only nodes that run real processes can do these. */
export const ofKubelets: Acts<'kubelet'> = {
  async 'node pressure'(stage) {
    const node = await stage.node()
    await stage.pod(name, { nodeSelector: node.selector })
    const path = '/debug/pressure/memory.available'
    await stage.askKubelet(node.name, { method: 'PUT', path })
    await failed(stage)
    await stage.askKubelet(node.name, { method: 'DELETE', path })
    await stage.until(
      async () => {
        const { spec } = await stage.client.get<Node>(nodes, { name: node.name })
        return (spec?.taints ?? []).length === 0
      },
      'the node to have enough memory again',
      '1m',
    )
    return { pods: 1 }
  },
  async 'local storage limit exceeded'(stage) {
    const command = ['sh', '-c', 'head -c 3000000 /dev/zero > /scratch/file; exec sleep 1000000']
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }]
    const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '1Mi' } }]
    const template = stage.template(name, 1, { volumes }, { command, volumeMounts })
    await stage.create<Pod>(pods, name, { spec: template.spec! })
    await failed(stage)
    return { pods: 1 }
  },
  async 'node shutdown'(stage) {
    const node = await stage.node()
    await stage.pod(name, { nodeSelector: node.selector })
    await stage.askKubelet(node.name, { method: 'POST', path: '/debug/node/shutdown' })
    await failed(stage)
    await stage.askKubelet(node.name, { method: 'POST', path: '/debug/node/return' })
    await stage.until(async () => {
      const { status } = await stage.client.get<Node>(nodes, { name: node.name })
      return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    }, 'the node to be ready again')
    return { pods: 1 }
  },
  async 'preempted by a critical pod'(stage) {
    const node = await stage.node()
    const { status } = await stage.client.get<Node>(nodes, { name: node.name })
    const resources = { requests: { 'ephemeral-storage': status?.allocatable?.['ephemeral-storage'] ?? '' } }
    await stage.pod(name, { nodeSelector: node.selector }, { resources })
    const critical = { nodeName: node.name, priorityClassName: 'system-node-critical' }
    const template = stage.template('critical', 1, critical, { resources })
    await stage.create<Pod>(pods, 'critical', { spec: template.spec! })
    await failed(stage)
    return { pods: 1 }
  },
}
