/** Longer texts make a table too wide to read when each row repeats them. */
const longest = 60

/** Tells a long text in full the first time; later `as WAY`, with the way that it was told of first. */
export class ToldOnce {
  readonly #first = new Map<string, string>()

  short(text: string, way: string): string {
    if (text.length <= longest) return text
    const first = this.#first.get(text)
    if (first === undefined) this.#first.set(text, way)
    return first === undefined ? text : `as ${first}`
  }
}
