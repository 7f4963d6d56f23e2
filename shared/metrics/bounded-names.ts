const other = 'other'

/**
 * Names that clients choose, as values of a label: the first `limit` stand for themselves, later ones count as `other`.
 */
export class BoundedNames {
  readonly #limit: number
  readonly #known: Set<string>

  /** `always` have a place whatever comes before. */
  constructor(limit: number, always: readonly string[] = []) {
    this.#known = new Set(always)
    this.#limit = limit + always.length
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#limit) return other
    this.#known.add(name)
    return name
  }
}
