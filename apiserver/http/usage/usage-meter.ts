import type { Node } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { KubeletProxy } from '../proxy/kubelet-proxy.ts'
import { type Counted, type NodeSummary, readNodeSummary } from './node-summary.ts'

/** Says how much was used: CPU as an average over the window, memory at its end. */
export interface Usage {
  cpuNanoCores: number
  memoryBytes: number
  windowMs: number
}
export interface NodeUsage {
  node: Usage | undefined
  /** Maps UIDs of pods, then names of containers, to their usage. */
  pods: ReadonlyMap<string, ReadonlyMap<string, Usage>>
}

interface Reading {
  summary: NodeSummary
  /** Milliseconds of the machine's clock. */
  atMs: number
}
interface Readings {
  /** The reading that rates are counted from; absent until there is a second one. */
  base?: Reading
  latest?: Reading
  /** A reading under way, which all requests of the time share. */
  next?: Promise<NodeUsage>
}

/** A request within this time of the last reading gets the same numbers. */
const freshMs = 1_000
/** Shorter windows are too noisy to scale by. */
const leastWindowMs = 10_000
/** Between the first two readings of a node, for which the first request waits. */
const firstWindowMs = 500
/** Kubelets that are asked at the same time. */
const maxAsked = 16

/**
 * Measures what nodes and their containers use, out of the counters of their kubelets. A kubelet is asked when a client
 * wants to know, at most once a second; nothing runs in between. As with metrics-server, CPU is an average since an
 * earlier reading, or since the start of a container that is newer.
 */
export class UsageMeter {
  readonly #kubelet: KubeletProxy
  readonly #clock: Clock
  readonly #nodes = new Map<string, Readings>()

  constructor(kubelet: KubeletProxy, clock: Clock) {
    this.#kubelet = kubelet
    this.#clock = clock
  }

  /** Returns the usage of each node by name. A node whose kubelet does not answer within 5 s is left out. */
  async of(nodes: readonly Node[]): Promise<Map<string, NodeUsage>> {
    const found = new Map<string, NodeUsage>()
    const waiting = [...nodes]
    const ask = async (): Promise<void> => {
      for (let node = waiting.pop(); node; node = waiting.pop()) {
        const usage = await this.#read(node).catch(() => undefined)
        if (usage) found.set(node.metadata.name ?? '', usage)
      }
    }
    await Promise.all(Array.from({ length: Math.min(maxAsked, nodes.length) }, ask))
    return found
  }

  /** Forgets the readings of all other nodes. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.#nodes.delete(name)
  }

  #read(node: Node): Promise<NodeUsage> {
    const name = node.metadata.name ?? ''
    const readings = this.#nodes.get(name) ?? {}
    this.#nodes.set(name, readings)
    const { latest, base } = readings
    if (latest && base && this.#clock.machine.now() - latest.atMs < freshMs)
      return Promise.resolve(usageOf(latest, base))
    readings.next ??= this.#take(node, readings).finally(() => delete readings.next)
    return readings.next
  }

  async #take(node: Node, readings: Readings): Promise<NodeUsage> {
    if (!readings.latest) {
      readings.latest = await this.#readingOf(node)
      await this.#clock.machine.sleep(firstWindowMs)
    }
    const taken = await this.#readingOf(node)
    const { latest, base } = readings as Required<Readings>
    if (!readings.base || latest.atMs - base.atMs >= leastWindowMs) readings.base = latest
    readings.latest = taken
    return usageOf(taken, readings.base)
  }

  async #readingOf(node: Node): Promise<Reading> {
    const summary = await readNodeSummary(this.#kubelet, this.#clock, node)
    return { summary, atMs: this.#clock.machine.now() }
  }
}

/** Computes what was used between two readings, or since the start of what is newer than `base`. Pure. */
export function usageOf({ summary, atMs }: Reading, base: Reading): NodeUsage {
  const since = (now: Counted, before: Counted | undefined): Usage => {
    const isSame = before !== undefined && now.cpuNs >= before.cpuNs
    const windowMs = Math.max(1, atMs - (isSame ? base.atMs : (now.startedAtMs ?? atMs)))
    const cpuNs = isSame ? now.cpuNs - before.cpuNs : now.startedAtMs === undefined ? 0 : now.cpuNs
    return { cpuNanoCores: Math.round((cpuNs * 1_000) / windowMs), memoryBytes: now.memoryBytes, windowMs }
  }
  const pods = new Map<string, ReadonlyMap<string, Usage>>()
  for (const [uid, containers] of summary.pods) {
    const before = base.summary.pods.get(uid)
    pods.set(uid, new Map([...containers].map(([name, now]) => [name, since(now, before?.get(name))])))
  }
  return { node: summary.node && since(summary.node, base.summary.node), pods }
}
