import type { Clock } from '../../../shared/clock/clock.ts'
import { Pace } from '../../load/pace.ts'
import { type Sample, send } from '../../load/request.ts'

export interface LoadOptions {
  url: URL
  /** The cluster's: samples are in its time, and requests come at its pace. */
  clock: Clock
}

/** Requests to one pod, each on a connection of its own, until it is stopped. */
export interface Load {
  /** Resolves when the first request has been answered; rejects when none is in time. */
  answered: Promise<void>
  /** Sends no more; resolves to all samples when the last request is over. */
  stop(): Promise<Sample[]>
}

const betweenMs = 50
/** A machine that does other things as well can go so fast. */
const leastBetweenMs = 5
const mostAtOnce = 16
/** Limits a request, by the machine's clock. */
const timeoutMs = 30_000
const firstAnswerMs = 20_000

export function startLoad({ url, clock }: LoadOptions): Load {
  const samples: Sample[] = []
  const first = Promise.withResolvers<void>()
  const patience = clock.machine.setTimer(firstAnswerMs, () =>
    first.reject(new Error(`${url} answered no request within ${firstAnswerMs / 1000} s`)),
  )
  let isAnswered = false
  const pace = new Pace({
    clock: clock.machine,
    betweenMs: Math.max(leastBetweenMs, betweenMs / clock.scale),
    mostAtOnce,
    async send() {
      const sample = await send({ url, timeoutMs }, clock)
      if (sample?.outcome === 'answered' && !isAnswered) {
        isAnswered = true
        patience.cancel()
        first.resolve()
      }
      // Before it serves there is nothing to lose.
      if (sample && isAnswered) samples.push(sample)
    },
  })
  return {
    answered: first.promise,
    async stop() {
      patience.cancel()
      await pace.stop()
      return samples
    },
  }
}
