import type { Clock } from '../../../../shared/clock/clock.ts'
import { endOfTurn } from '../../../../shared/clock/settle.ts'

/** The first signal of a round waits for others at most this long. */
const longestMs = 500

interface Signal {
  /** Runs before the first signal of the round is sent. Returns false if there is nothing to send any more. */
  prepare(): boolean
  send(): void
}

/**
 * Sends the signals of containers that are stopped at the same time one right after the other. A program that ends
 * takes a core: it would delay the work that has to precede the signals of others. A round ends with the first turn of
 * the event loop that adds nothing to it.
 */
export class SignalRounds {
  readonly #clock: Clock
  #round: { signals: Signal[]; sent: Promise<void> } | undefined

  constructor(clock: Clock) {
    this.#clock = clock.machine
  }

  /** Resolves when the signal is sent. */
  add(signal: Signal): Promise<void> {
    if (this.#round) this.#round.signals.push(signal)
    else {
      const signals = [signal]
      this.#round = { signals, sent: this.#send(signals) }
    }
    return this.#round.sent
  }

  async #send(signals: Signal[]): Promise<void> {
    const endMs = this.#clock.monotonic() + longestMs
    for (let known = 0; known < signals.length && this.#clock.monotonic() < endMs; ) {
      known = signals.length
      await endOfTurn()
    }
    this.#round = undefined
    const ready = signals.filter((signal) => signal.prepare())
    for (const signal of ready) signal.send()
  }
}
