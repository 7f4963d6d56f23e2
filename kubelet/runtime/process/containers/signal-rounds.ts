import type { Clock } from '../../../../shared/clock/clock.ts'
import { endOfTurn } from '../../../../shared/clock/settle.ts'

/** The first signal of a round waits for others at most this long. */
const longestMs = 500

interface Signal {
  /** Runs before the first signal of the round is sent. Returns false if there is nothing to send any more. */
  prepare(): boolean
  send(): void
}

interface Waiting extends PromiseWithResolvers<void> {
  signal: Signal
}

/**
 * Sends the signals of containers that are stopped at the same time one right after the other. A program that ends
 * takes a core: it would delay the work that has to precede the signals of others. A round ends with the first turn of
 * the event loop that adds nothing to it.
 */
export class SignalRounds {
  readonly #clock: Clock
  #round: Waiting[] | undefined

  constructor(clock: Clock) {
    this.#clock = clock.machine
  }

  /** Resolves when the signal is sent; rejects with what its own preparation or sending throws. */
  add(signal: Signal): Promise<void> {
    const waiting = { ...Promise.withResolvers<void>(), signal }
    if (this.#round) this.#round.push(waiting)
    else {
      this.#round = [waiting]
      void this.#send(this.#round)
    }
    return waiting.promise
  }

  async #send(round: Waiting[]): Promise<void> {
    const endMs = this.#clock.monotonic() + longestMs
    for (let known = 0; known < round.length && this.#clock.monotonic() < endMs; ) {
      known = round.length
      await endOfTurn()
    }
    this.#round = undefined
    const ready = round.filter((waiting) => attempt(waiting, ({ signal }) => signal.prepare()))
    for (const waiting of ready) attempt(waiting, ({ signal }) => signal.send())
    for (const { resolve } of round) resolve()
  }
}

/** A container whose signal cannot be sent does not keep others from theirs. */
function attempt<T>(waiting: Waiting, act: (waiting: Waiting) => T): T | undefined {
  try {
    return act(waiting)
  } catch (error) {
    waiting.reject(error)
    return undefined
  }
}
