import type { Cluster } from '../../../cluster/index.ts'
import type { Event } from '../../../shared/api/types.ts'
import type { Client, ObjectRef } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'
import { events, pods } from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { RecordLine } from '../../../shared/record/format.ts'
import { askKubelet } from '../../access/ask-server.ts'
import type { Sickbay } from './sickbay.ts'

/** Where pods die: a cluster, and what can be done to it. */
export interface Stage {
  client: Client
  /** The cluster's own. */
  clock: Clock
  nodeName: string
  sickbay: Sickbay
  /** Through the subresource, which only the network has. */
  evict(target: Required<ObjectRef>): Promise<void>
  /** Resolves when the kubelet has begun to stop one of the pods, or all of them are over before that is heard. */
  untilKilling(targets: readonly Required<ObjectRef>[]): Promise<void>
  /** Kills it; resolves when another runs. */
  restartKubelet(): Promise<void>
  /** Adds lines of a client that records the cluster meanwhile. */
  addToRecord(lines: readonly RecordLine[]): Promise<void>
  askNode(word: 'shutdown' | 'return'): Promise<void>
  close(): Promise<void>
}

const hearingMs = 5_000
const restartMs = 60_000
const betweenMs = 20

export async function openStage(
  { client, clock, state, kubeletPid, record }: Cluster,
  { nodeName, sickbay }: { nodeName: string; sickbay: Sickbay },
): Promise<Stage> {
  const access = await loadKubeconfig(state.kubeconfig)
  const { machine } = clock
  const network = createRestClient({ ...access, clock: machine, userAgent: 'kubestage' })
  return {
    client,
    clock,
    nodeName,
    sickbay,
    async evict(target) {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: target }
      await network.create(pods, eviction, { ...target, subresource: 'eviction' })
    },
    async untilKilling(targets) {
      const names = new Set(targets.map(({ name }) => name))
      const waiting = new AbortController()
      const timer = machine.setTimer(hearingMs, () => waiting.abort())
      try {
        for await (const { object } of client.watch<Event>(events, { signal: waiting.signal }))
          if (object.reason === 'Killing' && names.has(object.involvedObject.name ?? '')) return
      } finally {
        timer.cancel()
        waiting.abort()
      }
    },
    async restartKubelet() {
      const before = kubeletPid()
      if (before === undefined) return
      process.kill(before, 'SIGKILL')
      const deadlineMs = machine.monotonic() + restartMs
      while (kubeletPid() === before || kubeletPid() === undefined) {
        if (machine.monotonic() > deadlineMs) throw new Error('the kubelet did not come back')
        await machine.sleep(betweenMs)
      }
    },
    async addToRecord(lines) {
      const feed = await record()
      feed.add(lines)
    },
    async askNode(word) {
      await askKubelet(access, nodeName, { method: 'POST', path: `/debug/node/${word}` })
    },
    close: () => network.close(),
  }
}
