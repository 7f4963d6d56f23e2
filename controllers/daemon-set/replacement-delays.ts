import type { DaemonSet } from '../../shared/api/workloads/workloads.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Backoff, createBackoff } from '../../shared/concurrency/backoff.ts'

const BACKOFF = { initialMs: 1_000, maxMs: 15 * 60_000 }
/** A node is as good as new after so long without a replacement. */
const FORGET_MS = 2 * BACKOFF.maxMs

interface Delay {
  backoff: Backoff
  replacedMs: number
  untilMs: number
}

/**
 * The back-off of replacements of ended pods, for each node; a new template starts it again. Upstream:
 * failedPodsBackoff.
 */
export class ReplacementDelays {
  /** Keeps delays by the set's UID, and then by node. */
  readonly #sets = new Map<string, { generation: number; nodes: Map<string, Delay> }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds that the pod has to stay; where it is 0, it is taken to be replaced now. */
  leftMs({ metadata }: DaemonSet, nodeName: string): number {
    const nowMs = this.#clock.monotonic()
    const { uid = '', generation = 0 } = metadata
    const known = this.#sets.get(uid)
    const { nodes } = known?.generation === generation ? known : { nodes: new Map<string, Delay>() }
    this.#sets.set(uid, { generation, nodes })
    for (const [name, { replacedMs }] of nodes) if (nowMs - replacedMs > FORGET_MS) nodes.delete(name)
    const { backoff, untilMs } = nodes.get(nodeName) ?? { backoff: createBackoff(BACKOFF), untilMs: nowMs }
    if (untilMs > nowMs) return untilMs - nowMs
    nodes.set(nodeName, { backoff, replacedMs: nowMs, untilMs: nowMs + backoff.next() })
    return 0
  }

  forget({ metadata }: DaemonSet): void {
    this.#sets.delete(metadata.uid ?? '')
  }
}
