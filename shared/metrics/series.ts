import { type Family, histogramLines } from './exposition.ts'

export interface SeriesOptions<Label extends string> {
  name: string
  help: string
  labels: readonly Label[]
}
type Values<Label extends string> = Readonly<Record<Label, string>>

class Series<Label extends string, Value> {
  readonly #labels: readonly Label[]
  readonly #byKey = new Map<string, { labels: Values<Label>; value: Value }>()

  constructor(labels: readonly Label[]) {
    this.#labels = labels
  }

  /** Made with its first use: what never happens costs nothing. */
  of(labels: Values<Label>, make: () => Value): { labels: Values<Label>; value: Value } {
    const key = this.#labels.map((label) => labels[label]).join('\0')
    let series = this.#byKey.get(key)
    if (!series) {
      series = { labels: { ...labels }, value: make() }
      this.#byKey.set(key, series)
    }
    return series
  }

  delete(matches: Partial<Values<Label>>): void {
    const wanted = Object.entries(matches) as [Label, string][]
    for (const [key, { labels }] of this.#byKey)
      if (wanted.every(([label, value]) => labels[label] === value)) this.#byKey.delete(key)
  }

  [Symbol.iterator] = () => this.#byKey.values()
}

/** Keeps a family of counters. The caller bounds the values of its labels. */
export class Counters<Label extends string = never> {
  readonly #options: SeriesOptions<Label>
  readonly #series: Series<Label, { count: number }>

  constructor(options: SeriesOptions<Label>) {
    this.#options = options
    this.#series = new Series(options.labels)
  }

  add(labels: Values<Label>): void {
    this.#series.of(labels, () => ({ count: 0 })).value.count++
  }

  delete(matches: Partial<Values<Label>>): void {
    this.#series.delete(matches)
  }

  family(): Family {
    const { name, help } = this.#options
    const samples = [...this.#series].map(({ labels, value }) => ({ labels, value: value.count }))
    return { name, type: 'counter', help, samples }
  }
}

/** A family of histograms; `buckets` are upper limits, ascending. */
export class Histograms<Label extends string = never> {
  readonly #options: SeriesOptions<Label> & { buckets: readonly number[] }
  readonly #series: Series<Label, { counts: number[]; sum: number; total: number }>

  constructor(options: SeriesOptions<Label> & { buckets: readonly number[] }) {
    this.#options = options
    this.#series = new Series(options.labels)
  }

  observe(labels: Values<Label>, value: number): void {
    const { buckets } = this.#options
    const series = this.#series.of(labels, () => ({ counts: buckets.map(() => 0), sum: 0, total: 0 })).value
    const bucket = buckets.findIndex((limit) => value <= limit)
    if (bucket >= 0) series.counts[bucket]!++
    series.sum += value
    series.total++
  }

  delete(matches: Partial<Values<Label>>): void {
    this.#series.delete(matches)
  }

  family(): Family {
    const { name, help, buckets } = this.#options
    const samples = [...this.#series].flatMap(({ labels, value }) => histogramLines({ labels, ...value }, buckets))
    return { name, type: 'histogram', help, samples }
  }
}

/** client_golang's DefBuckets, in seconds. */
export const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export const gauge = (name: string, help: string, value: number): Family => ({
  name,
  type: 'gauge',
  help,
  samples: [{ value }],
})
