/** Characters of all warnings together, and of each one when they are cut. */
const maxTotal = 4096
const cutTo = 256

/**
 * Warning headers: each text once, and not more than clients can bear. Upstream:
 * apiserver/pkg/endpoints/filters/warning.go.
 */
export class Warnings {
  /** Made with the first: most requests have none. */
  #texts: Set<string> | undefined
  #written = 0
  #isCut = false

  readonly add = (text: string): void => {
    this.#texts ??= new Set()
    if (this.#written >= maxTotal || this.#texts.has(text)) return
    this.#texts.add(text)
    this.#written += this.#shown(text).length
    if (this.#isCut || this.#written <= maxTotal) return
    // Too long together: all are cut, those from before as well.
    this.#isCut = true
    this.#written = 0
    for (const each of this.#texts) this.#written += this.#shown(each).length
  }

  /** Returns the values of the Warning headers; undefined without a warning. */
  header(): string[] | undefined {
    return this.#texts && Array.from(this.#texts, (text) => `299 - "${quote(this.#shown(text))}"`)
  }

  #shown(text: string): string {
    return this.#isCut ? text.slice(0, cutTo) : text
  }
}

/** Quotes as Go does: printable ASCII stays, the rest must not break the header. */
const quote = (text: string): string =>
  text
    .replace(/[\\"]/g, '\\$&')
    .replace(/[\r\n\t]/g, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
