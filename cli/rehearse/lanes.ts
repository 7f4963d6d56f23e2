/** Lets through so many at a time, and never two that need the same thing. */
export class Lanes {
  readonly #places: number
  readonly #taken = new Set<string>()
  readonly #waiting: { things: readonly string[]; enter(): void }[] = []
  #running = 0

  constructor(places: number) {
    this.#places = places
  }

  async run<Result>(things: readonly string[], work: () => Promise<Result>): Promise<Result> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ things, enter })
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#running--
      for (const thing of things) this.#taken.delete(thing)
      this.#admit()
    }
  }

  /** Admits pods in order of arrival, except for those that have to wait. */
  #admit(): void {
    while (this.#running < this.#places) {
      const index = this.#waiting.findIndex(({ things }) => !things.some((thing) => this.#taken.has(thing)))
      const [next] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!next) return
      this.#running++
      for (const thing of next.things) this.#taken.add(thing)
      next.enter()
    }
  }
}

/** Rounds of at most `size`, in none of which two need the same thing. */
export function inRounds<Item>(
  items: readonly Item[],
  size: number,
  thingsOf: (item: Item) => readonly string[],
): Item[][] {
  const rounds: { items: Item[]; things: Set<string> }[] = []
  for (const item of items) {
    const things = thingsOf(item)
    const fits = rounds.find((round) => round.items.length < size && !things.some((thing) => round.things.has(thing)))
    const round = fits ?? { items: [], things: new Set<string>() }
    if (!fits) rounds.push(round)
    round.items.push(item)
    for (const thing of things) round.things.add(thing)
  }
  return rounds.map(({ items }) => items)
}
