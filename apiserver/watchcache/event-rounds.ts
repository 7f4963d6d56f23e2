/** Watches that have events to send. */
export interface EventSource {
  /** Ends the round: pending events belong to it, later ones to the next. */
  seal(): void
  /** Writes to at most so many watchers, and returns how many more it may have written to: 0 when it has to go on. */
  deliver(atMost: number): number
}

/** Watchers written to before the event loop gets its turn. */
const sliceSize = 500

interface Round {
  readonly sources: Set<EventSource>
  readonly sent: PromiseWithResolvers<void>
}

const newRound = (): Round => ({ sources: new Set(), sent: Promise.withResolvers() })

/**
 * Sends events to clients in rounds. The events of all writes of one turn of the event loop leave together at its end,
 * in slices, so that thousands of watchers do not stall other clients. The answers to these writes leave after their
 * events: a client that has its answer, and then reads what its informer has seen, finds its own write there.
 */
class EventRounds {
  #current: Round | undefined
  #next: Round | undefined

  /** `source` has events to send at the end of this turn of the event loop. */
  add(source: EventSource): void {
    this.#next ??= this.#start()
    this.#next.sources.add(source)
  }

  /**
   * Resolves once all events of the writes so far are on their way to their watchers; undefined when they are already.
   */
  sent(): Promise<void> | undefined {
    return (this.#next ?? this.#current)?.sent.promise
  }

  #start(): Round {
    if (!this.#current) setImmediate(this.#run)
    return newRound()
  }

  readonly #run = (): void => {
    const round = this.#current ?? this.#begin()
    if (!round) return
    let left = sliceSize
    for (const source of round.sources) {
      left = source.deliver(left)
      if (left === 0) break
      round.sources.delete(source)
    }
    if (round.sources.size === 0) {
      this.#current = undefined
      round.sent.resolve()
    }
    if (this.#current || this.#next) setImmediate(this.#run)
  }

  #begin(): Round | undefined {
    this.#current = this.#next
    this.#next = undefined
    for (const source of this.#current?.sources ?? []) source.seal()
    return this.#current
  }
}

/** This process has one event loop, so all servers in it share these rounds. */
export const eventRounds = new EventRounds()
