/**
 * Limits how many values a body may hold. Work on a body follows its values rather than its bytes: two bytes of
 * protobuf or three of JSON make an object that is decoded, completed, validated and owned by a manager.
 */
import type { StatusError } from '../../shared/api/status/status-error.ts'
import { requestEntityTooLarge } from '../../shared/api/status/status-errors.ts'

const tooManyValues = (max: number): StatusError =>
  requestEntityTooLarge(`Request entity too large: limit is ${max} objects, lists and members of either`).atLimit(
    'maxRequestBodyValues',
  )

/** A value that is read and compared digit by digit counts as this many. */
const quantity = 4

/** Counts the values of one body. Throws a StatusError (413) as soon as there are more than `max`. */
export class BodyValues {
  readonly #max: number
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  add(count: number): void {
    this.#count += count
    if (this.#count > this.#max) throw tooManyValues(this.#max)
  }

  addQuantities(count: number): void {
    this.add(count * quantity)
  }

  /** Objects in a list of a built-in kind: each is defaulted and validated, field by field of its type. */
  addListed(objects: number, fields: number): void {
    this.add(objects * Math.ceil(fields / 4))
  }
}

const COMMA = 44
const QUOTE = 34
const BACKSLASH = 92
const BRACKET = 91
const BRACE = 123
const NEWLINE = 10
const BLANK = 32
const RETURN = 13
const DASH = 45
const QUESTION = 63

const isSeparator = (code: number): boolean => code === COMMA || code === BRACKET || code === BRACE

/** Throws a StatusError (413) for JSON with more than `max` values. Costs nothing for a text that is too short for it. */
export function checkJsonValues(text: string, max: number): void {
  if (text.length > max) new BodyValues(max).add(jsonValues(text))
}

export function jsonValues(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (isSeparator(code)) count++
  }
  return count
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return text.length
}

/**
 * Throws a StatusError (413) for YAML with more than `max` values. Costs nothing for a text that is too short for it.
 * A YAML parser makes values at most where a line begins, and after a comma, a bracket, a dash or a question mark.
 * These characters count inside of strings as well: what YAML takes for a string is known only after parsing.
 */
export function checkYamlValues(text: string, max: number): void {
  if (text.length > max) new BodyValues(max).add(yamlValues(text))
}

/** Returns at least a quarter of the number of keys and values in a YAML text, with aliases not expanded. */
export function yamlValues(text: string): number {
  let count = 0
  let isLineStart = true
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BLANK) continue
    if (code === NEWLINE || code === RETURN) {
      count++
      isLineStart = true
      continue
    }
    const isMark = code === QUESTION || (code === DASH && !isLineStart)
    if (isSeparator(code) || (isMark && text.charCodeAt(at + 1) <= BLANK)) count++
    isLineStart = false
  }
  return count
}
