import { text } from 'node:stream/consumers'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { RecordedLoad } from '../../shared/record/format.ts'
import { openAnswer } from '../access/ask-server.ts'
import { intervalLines, type LineOf } from './lines.ts'
import type { Sample } from './request.ts'

export interface RecorderOptions {
  access: ClusterAccess
  /** Holds the cluster's clock. */
  clock: Clock
  /** Returns how many pods get requests. Lines of more pods are longer. */
  pods(): number
  say(message: string): void
}

/** A server takes as many at a time. */
const mostLines = 1_000
/** Lines that wait for a server which does not answer. */
const mostWaiting = 5_000
const flushMs = 1_000
const answerMs = 10_000
const leastIntervalMs = 200
/** The interval grows by this for each pod, so that there are at most fifty lines a second. */
const intervalOfPodMs = 20

/** Adds what clients see to the record of the cluster, each second, as lines of an interval each. */
export class LoadRecorder {
  /** Lines that no server took. */
  dropped = 0
  readonly #options: RecorderOptions
  /** Lines of an interval are written when all its requests are over. Oldest first. */
  readonly #underWay = new Set<{ startMs: number }>()
  #samples: { sample: Sample; of: LineOf }[] = []
  #waiting: RecordedLoad[] = []
  #timer: Timer | undefined
  #flushing: Promise<void> = Promise.resolve()
  #isAway = false
  #isClosed = false

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#later()
  }

  /** Notes what `sending` resolves to: nothing was sent if that is nothing. */
  async note(of: LineOf, sending: Promise<Sample | undefined>): Promise<Sample | undefined> {
    const one = { startMs: this.#options.clock.now() }
    this.#underWay.add(one)
    const sample = await sending
    this.#underWay.delete(one)
    if (sample) this.#samples.push({ sample, of })
    return sample
  }

  /** Writes the rest. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await this.#flushing
    await this.#flush()
    this.dropped += this.#waiting.length
  }

  #later(): void {
    if (this.#isClosed) return
    this.#timer = this.#options.clock.machine.setTimer(flushMs, () => {
      this.#flushing = this.#flush().then(() => this.#later())
    })
  }

  async #flush(): Promise<void> {
    this.#gather()
    this.dropped += Math.max(0, this.#waiting.length - mostWaiting)
    this.#waiting = this.#waiting.slice(-mostWaiting)
    while (this.#waiting.length > 0) {
      const lines = this.#waiting.slice(0, mostLines)
      if (!(await this.#post(lines))) return
      this.#waiting = this.#waiting.slice(lines.length)
    }
  }

  /** Makes lines of the intervals that are over. */
  #gather(): void {
    const { clock, pods } = this.#options
    const eachMs = Math.max(leastIntervalMs, pods() * intervalOfPodMs)
    const [first] = this.#underWay
    const nowMs = this.#isClosed ? Number.POSITIVE_INFINITY : clock.now()
    const untilMs = Math.floor((first?.startMs ?? nowMs) / eachMs) * eachMs
    const over = this.#samples.filter(({ sample }) => sample.startMs < untilMs)
    this.#samples = this.#samples.filter(({ sample }) => sample.startMs >= untilMs)
    for (const [, samples] of Map.groupBy(over, ({ of }) => of.uid ?? of.target)) {
      const { of } = samples[0]!
      const each = samples.map(({ sample }) => sample)
      this.#waiting.push(...intervalLines(each, { fromMs: 0, eachMs, of }))
    }
  }

  async #post(lines: readonly RecordedLoad[]): Promise<boolean> {
    const { access, clock, say } = this.#options
    const all = lines.map((line) => JSON.stringify(line)).join('\n')
    const question = { method: 'POST', path: '/kubestage/v1/record', text: all }
    try {
      const asked = openAnswer(access, question).then(text)
      if (!(await withinLimit(asked, answerMs, clock.machine))) throw new Error(`no answer within ${answerMs / 1000} s`)
    } catch (error) {
      if (!this.#isAway) say(`requests cannot be added to the record: ${(error as Error).message}`)
      this.#isAway = true
      return false
    }
    this.#isAway = false
    return true
  }
}
