import { randomUUID } from 'node:crypto'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { hasFindings } from '../../validation/request-body.ts'
import { frozenOf, noteComplete } from '../../values/recurring.ts'

const beforeSpec = '"spec":'
/** Stands in a text for a spec that is known. No client can guess it. */
const mark = randomUUID()
/** Limits the text before a spec; longer texts are read as a whole. */
const maxRest = 4_000
/** Two bytes may make a value, and a value may count as several. */
const valuesOfByte = 3
const maxKnown = 4

/** A spec as clients write it, with what follows it in the body. */
interface Known {
  tail: string
  /** The tail without the spec. */
  after: string
  /** Holds what decoding and defaults make of it, frozen. */
  spec: object
}

/**
 * Recognizes the specs of bodies that were made from one template by their text, so that they are parsed, decoded and
 * completed once. Bodies that all end differently are searched for one word, and pay a few comparisons.
 */
export class RecurringSpecs {
  readonly #definition: ResourceDefinition
  #known: readonly Known[] = []
  /** The ends of the last bodies whose spec was not known. */
  #seen: readonly string[] = []

  constructor(definition: ResourceDefinition) {
    this.#definition = definition
  }

  /** Returns whether a body of so many bytes can be read: it holds less than `maxValues` values, whatever they are. */
  static mayRead = (bytes: number, maxValues: number): boolean => bytes * valuesOfByte <= maxValues

  /** Parses a body whose spec is known; undefined for another one, and for one that is refused or warned about. */
  read(text: string): Record<string, unknown> | undefined {
    const at = beginningOf(text)
    if (at === -1) return undefined
    const known = this.#find(text.slice(at))
    return known && this.#parsed(`${text.slice(0, at)}"${mark}"${known.after}`, known.spec)
  }

  /** `spec`: what decoding and defaults have made of a body without a warning. */
  learn(text: string, spec: unknown): void {
    const at = beginningOf(text)
    if (at === -1 || typeof spec !== 'object' || spec === null) return
    const tail = text.slice(at)
    // A body with a known tail was refused or warned about for what precedes it.
    if (!tail.trimStart().startsWith('{') || this.#find(tail)) return
    if (!this.#seen.includes(tail)) {
      this.#seen = [tail, ...this.#seen.slice(0, maxKnown - 1)]
      return
    }
    const frozen = frozenOf<object>(toJson(spec))
    noteComplete(frozen, this.#definition.schema)
    const known = { tail, after: tail.slice(endOfObject(tail)), spec: frozen }
    this.#known = [known, ...this.#known.slice(0, maxKnown - 1)]
  }

  #find(tail: string): Known | undefined {
    return this.#known.find((one) => one.tail === tail)
  }

  #parsed(text: string, spec: object): Record<string, unknown> | undefined {
    let body: Record<string, unknown> | null
    try {
      body = parseExact(text) as Record<string, unknown> | null
    } catch {
      return undefined
    }
    const { kind } = this.#definition
    if (body?.spec !== mark || body.kind !== kind || body.apiVersion !== apiVersionOf(this.#definition))
      return undefined
    if (hasFindings(text, body)) return undefined
    body.spec = spec
    return body
  }
}

/** Returns where the spec begins, if what looks like it is one; -1 without it, and where too much precedes it. */
function beginningOf(text: string): number {
  const at = text.indexOf(beforeSpec) + beforeSpec.length
  return at < beforeSpec.length || at > maxRest ? -1 : at
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN = 123
const CLOSE = 125

/** Returns where the first object of a JSON text ends. */
function endOfObject(text: string): number {
  let depth = 0
  let isString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isString && code === BACKSLASH) at++
    else if (code === QUOTE) isString = !isString
    else if (isString) continue
    else if (code === OPEN) depth++
    else if (code === CLOSE && --depth === 0) return at + 1
  }
  return text.length
}
