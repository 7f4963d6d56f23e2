const maxTotalBytes = 4096
const cutBytes = 256

/** Warning headers: each text once, and not more than clients can bear. */
export class Warnings {
  readonly #texts: string[] = []
  #bytes = 0

  readonly add = (text: string): void => {
    if (this.#texts.includes(text)) return
    const shown = this.#bytes + text.length > maxTotalBytes ? text.slice(0, cutBytes) : text
    this.#bytes += shown.length
    this.#texts.push(shown)
  }

  /** Undefined when there is none. */
  header(): string[] | undefined {
    if (this.#texts.length === 0) return undefined
    return this.#texts.map((text) => `299 - "${quote(text)}"`)
  }
}

/** As Go's http header quoting: printable ASCII stays, the rest must not break the header. */
const quote = (text: string): string =>
  text
    .replace(/[\\"]/g, '\\$&')
    .replace(/[\r\n\t]/g, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
