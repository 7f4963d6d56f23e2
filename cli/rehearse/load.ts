import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { request } from '../../shared/http/node-http.ts'
import type { Sample } from './load-summary.ts'

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
/** As fast as a machine that does other things as well can go. */
const leastBetweenMs = 5
const mostAtOnce = 16
/** Of the machine. */
const requestTimeoutMs = 30_000
const firstAnswerMs = 20_000

export function startLoad({ url, clock }: LoadOptions): Load {
  const samples: Sample[] = []
  const running = new Set<Promise<void>>()
  const first = Promise.withResolvers<void>()
  const patience = clock.machine.setTimer(firstAnswerMs, () =>
    first.reject(new Error(`${url} answered no request within ${firstAnswerMs / 1000} s`)),
  )
  let isAnswered = false
  let timer: Timer | undefined
  const tick = (): void => {
    if (running.size < mostAtOnce) {
      const one: Promise<void> = send(url, clock).then((sample) => {
        running.delete(one)
        if (sample.outcome === 'answered' && !isAnswered) {
          isAnswered = true
          patience.cancel()
          first.resolve()
        }
        // Before it serves there is nothing to lose.
        if (isAnswered) samples.push(sample)
      })
      running.add(one)
    }
    timer = clock.machine.setTimer(Math.max(leastBetweenMs, betweenMs / clock.scale), tick)
  }
  tick()
  return {
    answered: first.promise,
    async stop() {
      timer?.cancel()
      patience.cancel()
      await Promise.all(running)
      return samples
    },
  }
}

function send(url: URL, clock: Clock): Promise<Sample> {
  const startMs = clock.now()
  return new Promise((resolve) => {
    let isConnected = false
    const end = (outcome: Sample['outcome']): void => resolve({ startMs, endMs: clock.now(), outcome })
    // A program that accepted the connection, or answered that it cannot serve, got the request.
    const fail = (): void => end(isConnected ? 'cut' : 'lost')
    const outgoing = request(url, { agent: false, timeout: requestTimeoutMs }, (answer) => {
      const isUnavailable = (answer.statusCode ?? 0) >= 500
      answer.on('error', fail)
      answer.on('close', () => (answer.complete ? end(isUnavailable ? 'lost' : 'answered') : fail()))
      answer.resume()
    })
    outgoing.on('socket', (socket) => socket.once('connect', () => (isConnected = true)))
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', fail)
    outgoing.end()
  })
}
