import type { Behavior } from './types.ts'

interface Recommendation {
  replicas: number
  atMs: number
}
interface ScaleEvent {
  change: number
  atMs: number
}

/** Holds what an autoscaler recommended and did lately: its steps are limited by it. */
export class ScalingHistory {
  #recommendations: Recommendation[] = []
  #ups: ScaleEvent[] = []
  #downs: ScaleEvent[] = []

  /** Remembers the size that the target had at first: it is not left at once. */
  begin(replicas: number, nowMs: number): void {
    if (this.#recommendations.length === 0) this.#recommendations.push({ replicas, atMs: nowMs })
  }

  /** Remembers a recommendation, and forgets those older than `keepMs`. */
  recommend(replicas: number, nowMs: number, keepMs: number): void {
    this.#recommendations = this.#recommendations.filter(({ atMs }) => atMs >= nowMs - keepMs)
    this.#recommendations.push({ replicas, atMs: nowMs })
  }

  /** Returns the highest of the recommendations since a time, or `least` if this is more. */
  highestSince(sinceMs: number, least: number): number {
    return this.#since(sinceMs).reduce((highest, { replicas }) => Math.max(highest, replicas), least)
  }

  /** Returns the lowest of the recommendations since a time, or `most` if this is less. */
  lowestSince(sinceMs: number, most: number): number {
    return this.#since(sinceMs).reduce((lowest, { replicas }) => Math.min(lowest, replicas), most)
  }

  /** Remembers a step, and forgets those that no policy counts any more. */
  scaled(from: number, to: number, behavior: Behavior, nowMs: number): void {
    const longestMs = (rules: Behavior['scaleUp']): number =>
      Math.max(0, ...(rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds * 1_000))
    const keepMs = Math.max(longestMs(behavior.scaleUp), longestMs(behavior.scaleDown))
    const isNew = ({ atMs }: ScaleEvent): boolean => atMs >= nowMs - keepMs
    this.#ups = this.#ups.filter(isNew)
    this.#downs = this.#downs.filter(isNew)
    if (to > from) this.#ups.push({ change: to - from, atMs: nowMs })
    else this.#downs.push({ change: from - to, atMs: nowMs })
  }

  /** Returns by how many replicas the target has grown since a time; less than 0 if it shrank. */
  growthSince(sinceMs: number): number {
    const total = (events: readonly ScaleEvent[]): number =>
      events.reduce((sum, { change, atMs }) => (atMs > sinceMs ? sum + change : sum), 0)
    return total(this.#ups) - total(this.#downs)
  }

  #since(sinceMs: number): Recommendation[] {
    return this.#recommendations.filter(({ atMs }) => atMs > sinceMs)
  }
}
