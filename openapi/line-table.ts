import { readFileSync } from 'node:fs'

/**
 * A generated file of `data/` with one entry on each line. An entry is parsed when it is asked for: all types in parsed
 * form take three times the memory of their text. A garbage collection drops the text, which is then read again.
 */
export class LineTable<T> {
  readonly #file: string
  #texts: WeakRef<ReadonlyMap<string, string>> | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** Parses an entry, each time anew; undefined if there is none of the name. */
  get(name: string): T | undefined {
    const text = this.#load().get(name)
    return text === undefined ? undefined : (JSON.parse(text) as T)
  }

  has(name: string): boolean {
    return this.#load().has(name)
  }

  names(): Iterable<string> {
    return this.#load().keys()
  }

  #load(): ReadonlyMap<string, string> {
    const kept = this.#texts?.deref()
    if (kept) return kept
    const texts = new Map(
      readFileSync(new URL(`data/${this.#file}`, import.meta.url), 'utf8')
        .slice('{\n"'.length, -'\n}\n'.length)
        .split(',\n"')
        .map((line) => [line.slice(0, line.indexOf('"')), line.slice(line.indexOf(':') + 1)]),
    )
    this.#texts = new WeakRef(texts)
    return texts
  }
}
