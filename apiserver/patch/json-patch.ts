import { isDeepStrictEqual } from 'node:util'

/** RFC 6902 as the library of a real server reads it, which forgives more than the RFC. */
export interface JsonPatchOperation {
  op?: string
  path?: string
  from?: string
  value?: unknown
}

/** An operation does not apply: the whole patch is refused, and nobody is told why. */
export class JsonPatchError extends Error {}

type Json = Record<string, unknown> | unknown[]

/** The document after all operations; the argument may be changed. */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  let current = document
  for (const operation of operations) current = applyOperation(current, operation)
  return current
}

function applyOperation(document: unknown, { op, path, from, value = null }: JsonPatchOperation): unknown {
  if (op === 'replace' && path === '') return structuredClone(value)
  const target = locate(document, path)
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
    case 'move':
      insert(target, take(locate(document, from)))
      break
    case 'copy':
      insert(target, structuredClone(read(locate(document, from))))
      break
    case 'test':
      if (!isDeepStrictEqual(read(target) ?? null, value)) throw new JsonPatchError('a test failed')
      break
    default:
      throw new JsonPatchError(`unexpected kind: ${op}`)
  }
  return document
}

interface Target {
  parent: Json
  key: string
}

/** What stands before the first slash is not looked at. */
function locate(document: unknown, path: string | undefined): Target {
  const segments = (path ?? '').split('/').slice(1).map(unescaped)
  const key = segments.pop()
  if (key === undefined) throw new JsonPatchError('missing path')
  let parent = document
  for (const segment of segments) parent = read({ parent: container(parent), key: segment })
  return { parent: container(parent), key }
}

const unescaped = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')

function container(value: unknown): Json {
  if (value === null || typeof value !== 'object') throw new JsonPatchError('doc is missing path')
  return value as Json
}

/** `size` items are there; a negative index counts from the end. */
function index(key: string, size: number): number {
  if (!/^[-+]?[0-9]+$/.test(key)) throw new JsonPatchError('not an index')
  const number = Number(key)
  const place = number < 0 ? number + size : number
  if (place < 0 || place >= size) throw new JsonPatchError('index out of range')
  return place
}

function read({ parent, key }: Target): unknown {
  if (Array.isArray(parent)) return parent[index(key, parent.length)]
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

function insert({ parent, key }: Target, value: unknown): void {
  if (!Array.isArray(parent)) define(parent, key, value)
  else if (key === '-') parent.push(value)
  else parent.splice(index(key, parent.length + 1), 0, value)
}

function replace({ parent, key }: Target, value: unknown): void {
  if (Array.isArray(parent)) parent[index(key, parent.length)] = value
  else define(parent, key, value)
}

function take({ parent, key }: Target): unknown {
  if (Array.isArray(parent)) return parent.splice(index(key, parent.length), 1)[0]
  if (!Object.hasOwn(parent, key)) throw new JsonPatchError('key does not exist')
  const value = parent[key]
  delete parent[key]
  return value
}

/** `__proto__` is a key like any other. */
function define(parent: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true })
}
