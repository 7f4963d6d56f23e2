/** Odd changes of objects. */
import type { Random } from '../../test/fuzz/random.ts'
import type { JsonObject } from './bases.ts'

export const oddValues: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1,
  2_147_483_648,
  1.5,
  true,
  false,
  [],
  {},
  [null],
  [''],
  { '': '' },
  'a',
  'A_b',
  'a'.repeat(64),
  'a.b',
  '-a',
  'a-',
  '*',
  '10%',
  '101%',
  '1',
  '-1',
  '1Gi',
  '1.5m',
  '10s',
  '2020-01-01T00:00:00Z',
  '1.2.3.4',
  '01.2.3.4',
  '::1',
  '10.0.0.0/8',
  'http',
  'TCP',
  'Always',
  'example.com/x',
  'example.com/',
  '/x',
  '../x',
  '/a/../b',
  'ü',
  65_536,
  443,
  'x'.repeat(300),
]
/** Picks a value of its own, which may be changed. */
export const oddValue = (random: Random): unknown => structuredClone(random.pick(oddValues))

const extraNames = ['extra', 'name', 'value', 'key', 'optional', 'exec', 'type', 'port']

export type Path = (string | number)[]
type Container = { [key: string | number]: unknown }

/** The paths of all values in a document but the document's own. */
export function* pathsOf(value: unknown, at: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) {
    yield [...at, key]
    yield* pathsOf((value as Container)[key], [...at, key])
  }
}

export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as Container | undefined)?.[key], document)
}

/** What keeps a request from being about its object is not changed. */
const isKept = (path: Path): boolean =>
  ['apiVersion', 'kind', 'metadata', 'metadata.name', 'metadata.namespace'].includes(path.join('.'))

/** Changes one field of the object in place and returns what was done, in words. */
export function mutate(object: JsonObject, random: Random): string {
  const paths = [...pathsOf(object)].filter((path) => !isKept(path))
  if (paths.length === 0) return 'nothing'
  const path = random.pick(paths)
  const parent = valueAt(object, path.slice(0, -1)) as Container
  const key = path.at(-1)!
  const how = random.pick(['odd', 'odd', 'odd', 'delete', 'copy', 'extra', 'swap', 'near'] as const)
  change(parent, key, how, { random, swapped: valueAt(object, random.pick(paths)) })
  return `${how} ${path.filter((step) => typeof step === 'string').join('.')}`
}

type How = 'odd' | 'delete' | 'copy' | 'extra' | 'swap' | 'near'

function change(parent: Container, key: string | number, how: How, from: { random: Random; swapped: unknown }): void {
  const { random, swapped } = from
  const value = parent[key]
  if (how === 'delete') {
    if (Array.isArray(parent)) parent.splice(key as number, 1)
    else delete parent[key]
  } else if (how === 'copy' && Array.isArray(parent)) parent.push(structuredClone(value))
  else if (how === 'extra' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    ;(value as Container)[random.pick(extraNames)] = oddValue(random)
  } else if (how === 'swap') parent[key] = structuredClone(swapped)
  else if (how === 'near' && typeof value === 'number') parent[key] = value + random.pick([-1, 1])
  else if (how === 'near' && typeof value === 'string') parent[key] = nearMiss(value, random)
  else parent[key] = oddValue(random)
}

function nearMiss(text: string, random: Random): string {
  const capital = text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()
  return random.pick([text.toUpperCase(), `${text}x`, text.slice(0, -1), `${text} `, capital])
}
