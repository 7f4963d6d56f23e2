import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { askKubelet } from '../cli/node/kubelet-request.ts'
import type { Cluster } from '../library/cluster.ts'
import type { Node, Pod, PodSpec } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { nodes, pods } from '../shared/client/resources.ts'

/** Where a pod dies. */
export interface Stage {
  cluster: Cluster
  /** Over the network, as anybody's would be. */
  client: Client
  pod: { namespace: string; name: string }
  nodeName: string
  /** How long the end may take, on the machine. */
  timeoutMs: number
}

/** Whether a pod is well is ours to say. */
export interface Switch extends AsyncDisposable {
  off(): Promise<void>
  on(): Promise<void>
}

/** What is to come of it. */
export type End = 'gone' | 'failed' | 'restarted'

/** One way to die. */
export interface Way {
  name: string
  title: string
  end: End
  /** What the hooks are told. */
  reason?: string
  /** No grace: nothing is asked of the containers. */
  forced?: boolean
  /** Before the pod is created; what it resolves to is given to `die`. */
  prepare?(spec: PodSpec, scale: number): Promise<Switch>
  die(stage: Stage, wellness: Switch | undefined): Promise<void>
  /** Puts the node right again. */
  after?(stage: Stage): Promise<void>
}

const taint = { key: 'rehearse.kubestage.dev/leave', effect: 'NoExecute' }

async function deletion(
  { client, pod }: Stage,
  options: { reason?: string; gracePeriodSeconds?: number } = {},
): Promise<void> {
  await client.delete(pods, pod, options)
}

async function atNode({ cluster, nodeName }: Stage, word: 'shutdown' | 'return'): Promise<void> {
  const node = await cluster.client.get<Node>(nodes, { name: nodeName })
  await askKubelet(node, cluster.access, { method: 'POST', path: `/debug/node/${word}` })
}

const setTaints = ({ client, nodeName }: Stage, taints: object[]): Promise<unknown> =>
  client.patch(nodes, { name: nodeName }, { spec: { taints } })

/** In the order in which they are tried; those that trouble the node come last. */
export const ways: readonly Way[] = [
  { name: 'delete', title: 'deleted', end: 'gone', die: (stage) => deletion(stage) },
  {
    name: 'update',
    title: 'deleted for a reason',
    end: 'gone',
    reason: 'Update',
    die: (stage) => deletion(stage, { reason: 'Update' }),
  },
  {
    name: 'evict',
    title: 'evicted',
    end: 'gone',
    reason: 'Eviction',
    async die({ client, pod }) {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: pod }
      await client.create(pods, eviction, { ...pod, subresource: 'eviction' })
    },
  },
  {
    name: 'liveness',
    title: 'liveness probe fails',
    end: 'restarted',
    prepare: failingProbe,
    async die({ cluster, pod, timeoutMs }, wellness) {
      await wellness?.off()
      const isRestarted = ({ status }: Pod): boolean =>
        status?.containerStatuses?.some(({ restartCount }) => restartCount > 0) ?? false
      await cluster.waitFor<Pod>(pods, pod, isRestarted, { timeout: timeoutMs }).catch(() => {}) // told by its end
      await wellness?.on()
    },
  },
  {
    name: 'deadline',
    title: 'deadline is over',
    end: 'failed',
    async die({ client, pod }) {
      await client.patch<Pod>(pods, pod, { spec: { activeDeadlineSeconds: 1 } })
    },
  },
  {
    name: 'force',
    title: 'deleted by force',
    end: 'gone',
    forced: true,
    die: (stage) => deletion(stage, { gracePeriodSeconds: 0 }),
  },
  {
    name: 'kubelet',
    title: 'kubelet restarts meanwhile',
    end: 'gone',
    async die(stage) {
      await deletion(stage)
      stage.cluster.killKubelet(stage.nodeName)
    },
  },
  {
    name: 'taint',
    title: 'node gets a taint',
    end: 'gone',
    reason: 'IntolerableTaint',
    die: async (stage) => void (await setTaints(stage, [taint])),
    after: async (stage) => void (await setTaints(stage, [])),
  },
  {
    name: 'shutdown',
    title: 'node shuts down',
    end: 'failed',
    reason: 'Eviction',
    die: (stage) => atNode(stage, 'shutdown'),
    async after(stage) {
      await atNode(stage, 'return')
      const isReady = ({ spec, status }: Node): boolean =>
        !spec?.taints?.length &&
        (status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')
      await stage.cluster.waitFor<Node>(nodes, { name: stage.nodeName }, isReady, { timeout: '30s' })
    },
  },
]

/** The first container is well as long as our port is open. It has a second of the machine to start, and we to open it again. */
async function failingProbe(spec: PodSpec, scale: number): Promise<Switch> {
  const server = createServer((socket) => socket.destroy())
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1').unref()
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const off = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  const port = await listen(0)
  const [container] = spec.containers
  if (container) {
    const tcpSocket = { host: '127.0.0.1', port }
    container.livenessProbe = {
      tcpSocket,
      initialDelaySeconds: Math.ceil(scale),
      periodSeconds: 1,
      failureThreshold: 1,
    }
  }
  return { off, on: async () => void (await listen(port)), [Symbol.asyncDispose]: off }
}
