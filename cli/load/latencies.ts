/** Each bucket ends 2 % above the one before it. */
const growth = Math.log(1.02)
const leastMs = 0.01

/** Durations in buckets: quantiles to within 2 %, in memory that does not grow with their number. */
export class Latencies {
  #count = 0
  #maxMs = 0
  readonly #buckets = new Map<number, number>()

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, leastMs) / leastMs) / growth)
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1)
    this.#count++
    this.#maxMs = Math.max(this.#maxMs, ms)
  }

  /** Returns the milliseconds that this part of the requests did not exceed; undefined without any request. */
  quantile(part: number): number | undefined {
    if (this.#count === 0) return undefined
    let left = Math.ceil(this.#count * part)
    for (const [bucket, count] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      left -= count
      if (left <= 0) return Math.min(leastMs * Math.exp(bucket * growth), this.#maxMs)
    }
    return this.#maxMs
  }
}
