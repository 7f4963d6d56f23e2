import type { Difference } from './compare.ts'

/** Counts answers, and differences by class and kind. */
export class Summary {
  #answers = 0
  #differing = 0
  #otherStatus = 0
  readonly #classes = new Map<string, number>()
  readonly #kinds = new Map<string, { differing: number; answers: number }>()

  add(kind: string, difference: Difference | undefined): void {
    const counts = this.#kinds.get(kind) ?? { differing: 0, answers: 0 }
    this.#kinds.set(kind, counts)
    this.#answers++
    counts.answers++
    if (!difference) return
    this.#differing++
    counts.differing++
    if (difference.class.startsWith('status')) this.#otherStatus++
    this.#classes.set(difference.class, (this.#classes.get(difference.class) ?? 0) + 1)
  }

  text(): string {
    const equal = this.#answers - this.#differing
    const classes = [...this.#classes].sort(([, a], [, b]) => b - a).map(([name, count]) => `${name}: ${count}`)
    const kinds = [...this.#kinds]
      .filter(([, { differing }]) => differing > 0)
      .sort(([, a], [, b]) => b.differing - a.differing)
      .map(([kind, { differing, answers }]) => `${kind} ${differing}/${answers}`)
    const percent = ((100 * equal) / Math.max(1, this.#answers)).toFixed(2)
    return [
      `${equal} of ${this.#answers} answers equal (${percent} %), ${this.#otherStatus} with another status`,
      `by class: ${classes.join(', ')}`,
      `by kind (differing of all): ${kinds.join(', ')}`,
    ].join('\n')
  }
}
