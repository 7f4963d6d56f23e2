/**
 * Reads JSON in which a key stands twice as Go reads it into a struct: an object is read into the one that is there,
 * and anything else replaces it. Only for text that JSON.parse accepts, with nesting that was checked before.
 */
import { isMap, type JsonMap, put } from '../values/json-map.ts'

const token = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/gy

export function parseMerging(text: string, parse: (text: string) => unknown): unknown {
  token.lastIndex = 0
  return new Reader(text, parse).value(next(text), undefined)
}

const next = (text: string): RegExpExecArray => token.exec(text)!

class Reader {
  readonly #text: string
  readonly #parse: (text: string) => unknown
  constructor(text: string, parse: (text: string) => unknown) {
    this.#text = text
    this.#parse = parse
  }

  /** Reads the value that begins with the token, into an object that is there already. */
  value([whole, mark]: RegExpExecArray, into: unknown): unknown {
    if (mark === '{') return this.#object(isMap(into) ? into : {})
    return mark === '[' ? this.#list() : this.#parse(whole)
  }

  #object(object: JsonMap): JsonMap {
    for (let found = next(this.#text); found[1] !== '}'; found = next(this.#text)) {
      if (found[1] === ',') continue
      const key = JSON.parse(found[0]) as string
      next(this.#text) // the colon
      put(object, key, this.value(next(this.#text), Object.hasOwn(object, key) ? object[key] : undefined))
    }
    return object
  }

  #list(): unknown[] {
    const items: unknown[] = []
    for (let found = next(this.#text); found[1] !== ']'; found = next(this.#text)) {
      if (found[1] !== ',') items.push(this.value(found, undefined))
    }
    return items
  }
}
