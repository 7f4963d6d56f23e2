/** Bodies that no honest client sends, made of honest ones. */
import fc, { type Arbitrary } from 'fast-check'

export interface HostileBody {
  /** How it was made, for the report. */
  made: string
  bytes: Buffer
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Texts where JSON wants a value; some are none. */
const strangeValues = [
  'null',
  'true',
  '0',
  '-1',
  '1e400',
  '-1e400',
  'NaN',
  'Infinity',
  '9223372036854775808',
  `1${'0'.repeat(400)}`,
  '1.5',
  '-0',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  `"${'a'.repeat(70_000)}"`,
  '[]',
  '[null]',
  '[[]]',
  '{}',
  '{"":{}}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"$patch":"delete"}',
  '{"$patch":7}',
  '{"$retainKeys":[1]}',
  '"2026-13-45T99:99:99Z"',
  '"10Zi"',
  '"%2f..%00"',
] as const

const marker = '"\\u0001here"'

/** One of its values, chosen by `at`, replaced by the text. */
function withValue(object: Json, at: number, text: string): string {
  const paths: (string | number)[][] = []
  const visit = (value: Json, path: (string | number)[]): void => {
    paths.push(path)
    if (value !== null && typeof value === 'object')
      for (const [key, child] of Object.entries(value)) visit(child, [...path, key])
  }
  visit(object, [])
  const path = paths[at % paths.length]!
  const copy = structuredClone({ root: object }) as { [key: string]: Json }
  let parent = copy
  const keys = ['root', ...path]
  for (const key of keys.slice(0, -1)) parent = parent[key] as { [key: string]: Json }
  parent[keys.at(-1)!] = '\u0001here'
  return JSON.stringify(copy.root).replace(marker, () => text)
}

/** A key of its first level that stands there twice. */
function withTwin(object: Json, at: number): string {
  const entries = Object.entries(object as { [key: string]: Json })
  const [key, value] = entries[at % entries.length] ?? ['kind', 'x']
  return JSON.stringify(object).replace(/}$/, `,${JSON.stringify(key)}:${JSON.stringify(value)}}`)
}

function shuffled(value: Json, seed: number): Json {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => shuffled(item, seed))
  const entries = Object.entries(value).map(([key, child]): [string, Json] => [key, shuffled(child, seed)])
  return Object.fromEntries(entries.sort(([a], [b]) => ((a.length * seed) % 7) - ((b.length * seed) % 7)))
}

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth)

/** Nine lists of nine of the one before. */
const bomb = Array.from({ length: 9 }, (_, level) => {
  const before = level === 0 ? 'x' : `*l${level - 1}`
  return `l${level}: &l${level} [${Array(9).fill(before).join(', ')}]`
}).join('\n')

/** Of an object and the same in protobuf, where there is one. */
export function hostileBodies(object: object, protobuf: readonly Buffer[]): Arbitrary<HostileBody> {
  const json = object as Json
  const text = JSON.stringify(json)
  const ways: Arbitrary<HostileBody>[] = [
    fc.constant(text).map((body) => bodyOf('as it is', body)),
    fc.nat(1000).map((seed) => bodyOf('shuffled', JSON.stringify(shuffled(json, seed + 1)))),
    fc.nat(text.length).map((length) => bodyOf('truncated', text.slice(0, length))),
    fc
      .tuple(fc.nat(), fc.constantFrom(...strangeValues))
      .map(([at, value]) => bodyOf(value.slice(0, 40), withValue(json, at, value))),
    fc
      .tuple(fc.nat(), fc.constantFrom(...strangeValues))
      .map(([at, value]) => bodyOf(value.slice(0, 40), withValue(json, at, value))),
    fc
      .tuple(
        fc.nat(),
        fc.integer({ min: 1, max: 30_000 }),
        fc.constantFrom<[string, string]>(['[', ']'], ['{"a":', '}'], ['[{"b":', '}]']),
      )
      .map(([at, depth, [open, close]]) => bodyOf(`${depth} deep`, withValue(json, at, nested(depth, open, close)))),
    fc.nat(1000).map((at) => bodyOf('a key twice', withTwin(json, at))),
    fc.tuple(fc.nat(), fc.constantFrom(0xff, 0xc0, 0x80, 0xf8, 0x00)).map(([at, byte]) => {
      const bytes = Buffer.from(text)
      bytes[at % bytes.length] = byte
      return { made: `byte ${byte}`, bytes }
    }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => ({ made: 'noise', bytes: Buffer.from(bytes) })),
    fc.uint8Array({ maxLength: 200 }).map((noise) => ({
      made: 'noise in an envelope',
      bytes: Buffer.concat([Buffer.from('k8s\0'), Buffer.from(noise)]),
    })),
    fc
      .constantFrom(bomb, 'a: &a [*a]', '? {a: b}\n: c', '!!js/function "x"', 'a: b\n\tc: d', `a: ${'['.repeat(5_000)}`)
      .map((yaml) => bodyOf('yaml', yaml)),
  ]
  if (protobuf.length > 0) {
    ways.push(
      fc.tuple(fc.constantFrom(...protobuf), fc.nat(), fc.nat(255), fc.boolean()).map(([whole, at, byte, cut]) => {
        const index = 4 + (at % (whole.length - 4))
        if (cut) return { made: 'protobuf, cut', bytes: whole.subarray(0, index) }
        const bytes = Buffer.from(whole)
        bytes[index] = byte
        return { made: 'protobuf, one byte', bytes }
      }),
    )
  }
  return fc.oneof(...ways)
}

const bodyOf = (made: string, text: string): HostileBody => ({ made, bytes: Buffer.from(text) })
