/**
 * Values that are equal as JSON and never changed, each held once: objects that come from one template have most in
 * common.
 */
export class Interned<Value extends object> {
  readonly #known = new Map<string, Value>()
  readonly #max: number

  /** Remembers the last `max` different ones. */
  constructor(max: number) {
    this.#max = max
  }

  /** The one that is equal to `value`; itself, if it is the first. */
  of(value: Value): Value {
    const text = JSON.stringify(value)
    const known = this.#known.get(text)
    if (known) return known
    if (this.#known.size >= this.#max) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(text, value)
    return value
  }
}
