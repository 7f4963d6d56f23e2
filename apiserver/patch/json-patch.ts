import { isDeepStrictEqual } from 'node:util'
import { parseExact, toJson } from '../../shared/api/json/exact-json.ts'
import { jsonValues } from '../validation/body-values.ts'
import { defaultWorkLimits } from '../work-limits.ts'

/** RFC 6902 as the library of a real server reads it, which forgives more than the RFC. */
export interface JsonPatchOperation {
  /** Null stands for none, here and below. */
  op?: string | null
  path?: string | null
  from?: string | null
  value?: unknown
}

/**
 * An operation does not apply: the whole patch is refused. The message is the library's; clients are not told it,
 * webhooks' owners are.
 */
export class JsonPatchError extends Error {}
/** A `test` operation found another value. */
export class JsonPatchTestFailed extends JsonPatchError {}

export type Json = Record<string, unknown> | unknown[]

/** The document after all operations; the argument may be changed. */
export function applyJsonPatch(
  document: unknown,
  operations: readonly JsonPatchOperation[],
  maxValues = defaultWorkLimits.bodyValues,
): unknown {
  let current = document
  const copies = new Copies(maxValues)
  for (const operation of operations) current = applyOperation(current, operation, copies)
  return current
}

const maxCopiedBytes = 3 * 1024 * 1024

/**
 * Bounds all copies of a patch together: a value that is copied into itself doubles each time. Upstream:
 * JSONPatchMaxCopyBytes.
 */
class Copies {
  readonly #maxValues: number
  #bytes = 0
  #values = 0

  constructor(maxValues: number) {
    this.#maxValues = maxValues
  }

  of(value: unknown): unknown {
    if (value === undefined) return undefined
    const text = toJson(value)
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes > maxCopiedBytes) {
      const why = `the accumulated size increase of copy is ${this.#bytes}, exceeding the limit ${maxCopiedBytes}`
      throw new JsonPatchError(`Unable to complete the copy, ${why}`)
    }
    this.#values += jsonValues(text)
    if (this.#values > this.#maxValues) throw new JsonPatchError(`more than ${this.#maxValues} values are copied`)
    return parseExact(text)
  }
}

function applyOperation(
  document: unknown,
  { path, from, value = null, ...operation }: JsonPatchOperation,
  copies: Copies,
): unknown {
  const op = operation.op ?? 'unknown'
  if (op === 'replace' && path === '') return structuredClone(value)
  if (op === 'move') {
    // What was moved is gone when its new place is looked for.
    const moved = take(locate(document, from, op))
    insert(locate(document, path, op), moved)
    return document
  }
  const target = locate(document, path, op)
  switch (op) {
    case 'add':
      insert(target, structuredClone(value))
      break
    case 'remove':
      take(target)
      break
    case 'replace':
      replace(target, structuredClone(value))
      break
    case 'copy':
      insert(target, copies.of(read(locate(document, from, op)) ?? null))
      break
    case 'test':
      if (!isDeepStrictEqual(read(target) ?? null, value))
        throw new JsonPatchTestFailed(`testing value ${path} failed: test failed`)
      break
    default:
      throw new JsonPatchError(`Unexpected kind: ${op}`)
  }
  return document
}

/** A Target is the place at which an operation acts. */
export interface Target {
  parent: Json
  key: string
  /** The operation's name, which messages show. */
  op: string
  path: string
}

/** Finds the place of a pointer, and ignores what stands before its first slash. `look` is called on the way. */
export function locate(
  document: unknown,
  pointer: string | null | undefined,
  op: string,
  look?: (parent: Json) => void,
): Target {
  const path = pointer ?? ''
  const segments = path.split('/').slice(1).map(unescaped)
  const key = segments.pop()
  let parent = document
  for (const segment of segments) {
    if (!isContainer(parent)) break
    look?.(parent)
    parent = read({ parent, key: segment, op, path })
  }
  if (key === undefined || !isContainer(parent))
    throw new JsonPatchError(`${op} operation does not apply: doc is missing ${missing(op, path)}: missing value`)
  look?.(parent)
  return { parent, key, op, path }
}

const missing = (op: string, path: string): string => (op === 'replace' ? `path: ${path}` : `path: "${path}"`)
const unescaped = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')
const isContainer = (value: unknown): value is Json => value !== null && typeof value === 'object'

/** `size` items are there; a negative index counts from the end. */
function index({ key, op, path }: Target, size: number): number {
  const refuse = (why: string) => new JsonPatchError(`error in ${op} for path: '${path}': ${why}`)
  if (!/^[-+]?[0-9]+$/.test(key)) throw refuse(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`)
  const number = Number(key)
  const place = number < 0 ? number + size : number
  if (place < 0 || place >= size) throw refuse(`Unable to access invalid index: ${key}: invalid index referenced`)
  return place
}

export function read(target: Target): unknown {
  const { parent, key } = target
  if (Array.isArray(parent)) return parent[index(target, parent.length)]
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

export function insert(target: Target, value: unknown): void {
  const { parent, key } = target
  if (!Array.isArray(parent)) define(parent, key, value)
  else if (key === '-') parent.push(value)
  else parent.splice(index(target, parent.length + 1), 0, value)
}

export function replace(target: Target, value: unknown): void {
  const { parent, key } = target
  if (Array.isArray(parent)) parent[index(target, parent.length)] = value
  else define(parent, key, value)
}

export function take(target: Target): unknown {
  const { parent, key, op, path } = target
  if (Array.isArray(parent)) return parent.splice(index(target, parent.length), 1)[0]
  if (!Object.hasOwn(parent, key))
    throw new JsonPatchError(
      `error in ${op} for path: '${path}': Unable to remove nonexistent key: ${key}: missing value`,
    )
  const value = parent[key]
  delete parent[key]
  return value
}

/** `__proto__` is a key like any other. */
function define(parent: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true })
}
