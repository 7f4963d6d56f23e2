/** Whether work grows with its size: one large step first, and the whole curve where that looks suspicious. */
import type { Meter } from './meter.ts'
import type { Work } from './writes.ts'

interface Point {
  size: number
  /** CPU time of the server, in milliseconds. */
  ms: number
}

export interface Verdict {
  isLinear: boolean
  /** What was measured. */
  text: string
  /** Codes of the answers at the largest size. */
  codes: number[]
}

/** Tried one after the other, until the server takes one: what it refuses as too large costs next to nothing. */
const largestSizes = [100_000, 66_000, 50_000, 33_000, 25_000, 16_000, 12_000, 8_000, 6_000, 4_000]
const tooLarge = 413
/** Of CPU time for one request: all others wait for it. */
const mostHeldMs = 1_000

/** The sizes of a whole curve; the last is eight times the first. */
export const sizes = [1_000, 2_000, 4_000, 8_000] as const
/** Eight times the entries cost eight times the work, and some more for sorting and garbage; what is quadratic costs 64 times. */
const mostGrowth = 16
/** Less for each entry and request looks fine without a second measurement. */
const fineUs = 15
/** Below, growth is noise. */
const leastMs = 40
const goes = 3

export class Judge {
  readonly #meter: Meter
  /** Of what the server has been asked, in milliseconds. */
  cpuMs = 0
  #codes: number[] = []

  constructor(meter: Meter) {
    this.#meter = meter
  }

  /** Looks at the work with so many entries, and at the whole curve where it may grow faster than them. */
  async look(workOf: (size: number) => Work, size: number): Promise<Verdict> {
    const large = await this.#cost(workOf(size))
    const codes = this.#codes
    const fineMs = Math.max(leastMs, (size * codes.length * fineUs) / 1000)
    if (large < fineMs) return { isLinear: true, codes, text: `${large.toFixed(0)} ms for ${size}` }
    const step = [await this.#least(workOf, size / 8, 2), { size, ms: large }]
    if (growth(step) < mostGrowth) return { isLinear: true, codes, text: printed(step) }
    return this.curve(workOf)
  }

  async curve(workOf: (size: number) => Work): Promise<Verdict> {
    const points: Point[] = []
    for (const size of sizes) points.push(await this.#least(workOf, size, goes))
    const isLinear = points.at(-1)!.ms < leastMs || growth(points) < mostGrowth
    return { isLinear, codes: this.#codes, text: printed(points) }
  }

  /** Whether each request is quick with as many entries as the server takes. */
  async largest(workOf: (size: number) => Work): Promise<Verdict & { isQuick: boolean }> {
    let worst = { size: 0, ms: 0 }
    let codes: number[] = []
    for (const size of largestSizes) {
      const { before, measured, after } = workOf(size)
      for (const request of before) await this.#meter.ask(request)
      const costs = []
      for (const request of measured) costs.push(await this.#meter.cost([request]))
      for (const request of after) await this.#meter.ask(request)
      codes = costs.flatMap(({ codes }) => codes)
      const ms = Math.max(...costs.map(({ ms }) => ms))
      if (ms > worst.ms) worst = { size, ms }
      this.cpuMs += ms
      if (!codes.includes(tooLarge)) break
    }
    return { isLinear: true, isQuick: worst.ms < mostHeldMs, codes, text: printed([worst]) }
  }

  async #least(workOf: (size: number) => Work, size: number, goes: number): Promise<Point> {
    let ms = Number.POSITIVE_INFINITY
    for (let go = 0; go < goes; go++) ms = Math.min(ms, await this.#cost(workOf(size)))
    return { size, ms }
  }

  async #cost({ before, measured, after }: Work): Promise<number> {
    for (const request of before) await this.#meter.ask(request)
    const { ms, codes } = await this.#meter.cost(measured)
    for (const request of after) await this.#meter.ask(request)
    this.#codes = codes
    this.cpuMs += ms
    return ms
  }
}

const growth = (points: readonly Point[]): number => points.at(-1)!.ms / Math.max(0.5, points[0]!.ms)
const printed = (points: readonly Point[]): string =>
  points.map(({ size, ms }) => `${ms.toFixed(0)} ms for ${size}`).join(', ')
