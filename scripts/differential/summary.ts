import type { Difference } from './compare.ts'

interface Counts {
  answers: number
  differing: number
  otherStatus: number
  /** Answers in which the real server differs from itself as well. They count neither as equal nor as differing. */
  unstable: number
}

/** Counts answers by area, and differences by class and kind. */
export class Summary {
  readonly #areas = new Map<string, Counts>()
  readonly #classes = new Map<string, number>()
  readonly #kinds = new Map<string, number>()

  add(area: string, kind: string, found: Difference | 'unstable' | undefined): void {
    const counts = this.#areas.get(area) ?? { answers: 0, differing: 0, otherStatus: 0, unstable: 0 }
    this.#areas.set(area, counts)
    if (found === 'unstable') {
      counts.unstable++
      return
    }
    counts.answers++
    if (!found) return
    counts.differing++
    if (found.class.startsWith('status')) counts.otherStatus++
    count(this.#classes, found.class)
    count(this.#kinds, kind)
  }

  text(): string {
    const areas = [...this.#areas].map(([name, counts]) => `${name}: ${shown(counts)}`)
    return [
      ...areas,
      `all: ${shown([...this.#areas.values()].reduce(sum, none))}`,
      `differing by class: ${sorted(this.#classes)}`,
      `differing by kind: ${sorted(this.#kinds)}`,
    ].join('\n')
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const sorted = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, times]) => `${name} ${times}`)
    .join(', ')

const none: Counts = { answers: 0, differing: 0, otherStatus: 0, unstable: 0 }
const sum = (a: Counts, b: Counts): Counts => ({
  answers: a.answers + b.answers,
  differing: a.differing + b.differing,
  otherStatus: a.otherStatus + b.otherStatus,
  unstable: a.unstable + b.unstable,
})

function shown({ answers, differing, otherStatus, unstable }: Counts): string {
  const equal = answers - differing
  const percent = ((100 * equal) / Math.max(1, answers)).toFixed(2)
  const more = unstable > 0 ? `, ${unstable} more in which the real server differs from itself` : ''
  return `${equal} of ${answers} answers equal (${percent} %), ${otherStatus} with another status${more}`
}
