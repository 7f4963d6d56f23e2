import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordedLoad } from '../../../shared/record/format.ts'
import { until } from '../../harness/until.ts'

export const PER_SECOND = 200
const INTERVAL_MS = 500
const SILENCE_MS = 15_000

/** Tells what became of requests. */
export interface Sent {
  readonly failures: string[]
  readonly answered: number
  end(): Promise<void>
  /** The lines of a record that say what became of the requests of each interval. */
  lines(target: string): RecordedLoad[]
}

/** Sends requests, each by a connection of its own, and counts those that fail. */
export class Load implements Sent {
  readonly #agent = new Agent({ keepAlive: false })
  readonly #urlOf: (sent: number) => string
  readonly failures: string[] = []
  answered = 0
  #underWay = 0
  #isOver = false
  readonly #intervals: { answered: number; lost: number }[] = []
  readonly #ended: Promise<void>
  readonly #beganMs = Date.now()

  constructor(urlOf: (sent: number) => string) {
    this.#urlOf = urlOf
    this.#ended = this.#run()
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#ended
    await until(() => this.#underWay === 0, { what: 'the last answers', timeoutMs: 30_000 })
  }

  lines(target: string): RecordedLoad[] {
    return this.#intervals.map(({ answered, lost }, index) => {
      const at = new Date(this.#beganMs + index * INTERVAL_MS).toISOString()
      const counts = { answered, lost, cut: 0, slowestMs: 0 }
      return { type: 'LOAD', at, seconds: INTERVAL_MS / 1_000, target, namespace: 'default', ...counts }
    })
  }

  async #run(): Promise<void> {
    for (let sent = 0; !this.#isOver; ) {
      for (; sent < ((Date.now() - this.#beganMs) / 1_000) * PER_SECOND; sent++) this.#send(sent)
      await sleep(5)
    }
  }

  #send(sent: number): void {
    this.#underWay++
    const index = Math.floor((Date.now() - this.#beganMs) / INTERVAL_MS)
    while (this.#intervals.length <= index) this.#intervals.push({ answered: 0, lost: 0 })
    const interval = this.#intervals[index]!
    const over = (code?: string): void => {
      this.#underWay--
      interval[code === undefined ? 'answered' : 'lost']++
      if (code === undefined) this.answered++
      else this.failures.push(code)
    }
    // A pod that goes at once may leave a connection that hears nothing any more.
    const request = get(this.#urlOf(sent), { agent: this.#agent, timeout: SILENCE_MS }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      answer.on('end', () => over(answer.statusCode === 200 ? undefined : `${answer.statusCode} ${text}`))
      answer.on('error', () => over('cut'))
    })
    request.on('error', (error: NodeJS.ErrnoException) => over(error.code))
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })))
  }
}
