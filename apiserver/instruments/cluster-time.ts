import type { MovableClock } from '../../shared/clock/movable-clock.ts'
import { settle } from '../../shared/clock/settle.ts'

/** Names a kubelet that has a clock of its own. */
export interface TimedNode {
  name: string
  /** Differs when another kubelet has come in its place. */
  address: string
}

export interface Move {
  /** Counts by how much the time is to have been moved in all. */
  movedMs: number
  /** No other follows at once: time for containers to hear of it. */
  isLast: boolean
}

export interface ClusterTimeOptions {
  clock: MovableClock
  /** Returns the revision of the last write. */
  revision(): number
  nodes(): TimedNode[]
  /** Moves its clock. Resolves to the milliseconds until it has more to do. */
  tell(node: TimedNode, move: Move): Promise<number | undefined>
  onError(error: unknown, node: TimedNode): void
}

/** Shorter waits are not worth a round of their own: hardly anything in Kubernetes is counted in less than seconds. */
const leastStepMs = 1_000
/** Rounds at one time until no part has work left; work that continues beyond them does not depend on the time. */
const mostRounds = 5

/** The time of server and controllers, and of all kubelets, moved together. */
export class ClusterTime {
  readonly #options: ClusterTimeOptions
  /** Chains the moves: each waits for the one before. */
  #last: Promise<void> = Promise.resolve()

  constructor(options: ClusterTimeOptions) {
    this.#options = options
  }

  get movedMs(): number {
    return this.#options.clock.movedMs
  }

  /**
   * Lets that much time pass at once, from one thing that is due to the next, wherever it is due. Resolves when what
   * came of it has been written, as far as that takes moments; programs need their own time. When the signal aborts,
   * time stays where it has come to.
   */
  advance(durationMs: number, signal?: AbortSignal): Promise<void> {
    const moving = this.#last.then(() => this.#advance(durationMs, signal))
    this.#last = moving.catch(() => {})
    return moving
  }

  /** Tells a kubelet that has come meanwhile. */
  async join(node: TimedNode): Promise<void> {
    if (this.movedMs > 0) await this.#tell(node, true)
  }

  async #advance(durationMs: number, signal?: AbortSignal): Promise<void> {
    const { clock, nodes } = this.#options
    if (signal?.aborted) return
    if (nodes().length === 0) return clock.advance(durationMs)
    const end = clock.movedMs + durationMs
    let nextMs = await this.#settle()
    while (clock.movedMs < end && !signal?.aborted) {
      await clock.advance(Math.min(end - clock.movedMs, Math.max(leastStepMs, Math.ceil(nextMs))))
      nextMs = await this.#settle()
    }
    await Promise.all(nodes().map((node) => this.#tell(node, true)))
  }

  /**
   * Until all know what time it is, and nothing comes of it any more. Resolves to the milliseconds until there is more
   * to do.
   */
  async #settle(): Promise<number> {
    const { clock, revision, nodes } = this.#options
    let nextMs = Number.POSITIVE_INFINITY
    for (let round = 0, seen = -1; round < mostRounds && seen !== revision(); round++) {
      seen = revision()
      const waits = await Promise.all(nodes().map((node) => this.#tell(node)))
      await settle()
      nextMs = Math.min(...waits, (clock.nextDeadline() ?? Number.POSITIVE_INFINITY) - clock.monotonic())
    }
    return nextMs
  }

  async #tell(node: TimedNode, isLast = false): Promise<number> {
    try {
      return (await this.#options.tell(node, { movedMs: this.movedMs, isLast })) ?? Number.POSITIVE_INFINITY
    } catch (error) {
      // It hears of it when it comes back.
      this.#options.onError(error, node)
      return Number.POSITIVE_INFINITY
    }
  }
}
