import type { Node } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { KubeletProxy } from '../proxy/kubelet-proxy.ts'

/** Counts what a node, or one container, has used up to a time. */
export interface Counted {
  /** Counts CPU time since the start, in nanoseconds. */
  cpuNs: number
  /** Working set in bytes. */
  memoryBytes: number
  /** When it started, in milliseconds since the Unix epoch of the machine; absent if the kubelet does not say so. */
  startedAtMs?: number
}
export interface NodeSummary {
  node: Counted | undefined
  /** Maps UIDs of pods, then names of containers, to what they used. */
  pods: ReadonlyMap<string, ReadonlyMap<string, Counted>>
}

const patienceMs = 5_000
/** A node with 500 pods answers with about 1 MB. */
const maxAnswerBytes = 16 * 1024 * 1024

/** Asks the kubelet of a node what is used there. Rejects if it refuses, or has not answered after 5 s. */
export async function readNodeSummary(kubelet: KubeletProxy, clock: Clock, node: Node): Promise<NodeSummary> {
  const closers: (() => void)[] = []
  const late = clock.machine.setTimer(patienceMs, () => {
    for (const close of closers) close()
  })
  try {
    const answer = await kubelet.read(node, { path: '/stats/summary', onClose: (close) => void closers.push(close) })
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of answer as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes > maxAnswerBytes) throw new Error(`the kubelet of ${node.metadata.name} sent more than 16 MB`)
    }
    return parseSummary(JSON.parse(Buffer.concat(parts).toString()))
  } finally {
    late.cancel()
  }
}

/** Reads the fields that matter of an answer that may be anything. */
export function parseSummary(answer: unknown): NodeSummary {
  const { node, pods } = record(answer)
  const byPod = new Map<string, ReadonlyMap<string, Counted>>()
  for (const pod of array(pods)) {
    const { podRef, containers } = record(pod)
    const counted = new Map<string, Counted>()
    for (const container of array(containers)) {
      const found = countedOf(container)
      if (found) counted.set(String(record(container).name), found)
    }
    byPod.set(String(record(podRef).uid), counted)
  }
  return { node: countedOf(node), pods: byPod }
}

function countedOf(stats: unknown): Counted | undefined {
  const { cpu, memory, startTime } = record(stats)
  const { usageCoreNanoSeconds: cpuNs } = record(cpu)
  const { workingSetBytes: memoryBytes } = record(memory)
  if (typeof cpuNs !== 'number' || typeof memoryBytes !== 'number') return undefined
  const startedAtMs = Date.parse(String(startTime))
  return { cpuNs, memoryBytes, ...(!Number.isNaN(startedAtMs) && { startedAtMs }) }
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
const array = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
