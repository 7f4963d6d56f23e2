/**
 * Expressions of all functions of all libraries, three deep, on texts and lists of up to 1 MB: none takes a second of CPU
 * time or 200 MB. What upstream's limits let pass must be paid for before it is made.
 */
import { compile, type Program } from '../../../apiserver/cel/environment.ts'
import { CelError } from '../../../apiserver/cel/errors.ts'
import { schemaType } from '../../../apiserver/cel/json-values.ts'
import { BOOL, BYTES, type CelType, INT, listOf, mapOf, STRING, TIMESTAMP } from '../../../apiserver/cel/types.ts'
import { ProgramGenerator } from '../../cel/program-generator.ts'
import type { Fuzzer } from '../fuzzer.ts'
import { Random } from '../random.ts'

const MOST_MILLISECONDS = 1_000
const MOST_BYTES = 200_000_000
const LARGEST = 1_000_000

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const { type, convert } = schemaType(
  {
    type: 'object',
    properties: {
      s: text,
      p: text,
      n: { type: 'integer' },
      l: texts,
      k: { type: 'array', items: { type: 'integer' } },
      m: { type: 'object', additionalProperties: text },
      set: { ...texts, 'x-kubernetes-list-type': 'set' },
      ll: { type: 'array', items: texts },
      bytes: { type: 'string', format: 'byte' },
      at: { type: 'string', format: 'date-time' },
      items: {
        type: 'array',
        items: { type: 'object', properties: { s: text, l: texts } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['s'],
      },
    },
  },
  'self',
)!
const itemType = type.fields!.get('items')!.params[0]!
const variables = [
  ['self.s', STRING],
  ['self.p', STRING],
  ['self.n', INT],
  ['self.l', listOf(STRING)],
  ['self.k', listOf(INT)],
  ['self.m', mapOf(STRING, STRING)],
  ['self.set', listOf(STRING)],
  ['self.ll', listOf(listOf(STRING))],
  ['string(self.bytes)', STRING],
  ['self.bytes', BYTES],
  ['self.at', TIMESTAMP],
  ['self.items', listOf(itemType)],
  ['self.items[0]', itemType],
  ['self.items[0].s', STRING],
].map(([text, type]) => ({ text, type }) as { text: string; type: CelType })

/** Texts that are hard for one function or another. */
const PIECES = [
  'a',
  ' ',
  '1',
  '.',
  ',',
  'ab',
  'é',
  '😀',
  '(a?)',
  'a{1000}',
  '[a',
  '\\pL',
  '1.',
  '::',
  'a=b&',
  '%s',
  '[^\\pL\\d]',
  '(',
  '(?i)[^k-s]',
  'x*',
  'a|',
  'v1.2.3-',
  '%.100f',
  'America/',
  'abcdefghij',
]

/** Each size is as probable as one ten times larger. */
const size = (random: Random): number => Math.floor(LARGEST ** random.next())
function longText(random: Random): string {
  const piece = random.pick(PIECES)
  const end = random.pick(['', 'b', '!', ' '])
  return piece.repeat(Math.ceil(size(random) / piece.length)) + end
}
function longTexts(random: Random): string[] {
  const count = size(random) / 8
  const few = Array.from({ length: 1 + random.below(3) }, () => random.pick(PIECES))
  return random.chance(0.2)
    ? [longText(random), longText(random)]
    : Array.from({ length: count }, (_, index) => (random.chance(0.5) ? `v${index}` : random.pick(few)))
}
const object = (random: Random): unknown => ({
  s: longText(random),
  p: random.chance(0.5) ? longText(random) : random.pick(PIECES),
  n: random.pick([0, 1, 5, 1_000, 1_000_000]),
  l: longTexts(random),
  k: Array.from({ length: size(random) / 8 }, (_, index) => index % 1_000),
  m: Object.fromEntries(longTexts(random).map((text, index) => [`k${index}`, text])),
  set: [...new Set(longTexts(random))],
  ll: [longTexts(random), longTexts(random)],
  bytes: Buffer.from(longText(random)).toString('base64'),
  at: '2024-05-06T07:08:09.123456789Z',
  items: longTexts(random).map((s, index) => ({ s: `${s}${index}`, l: [s] })),
})

/** A few objects are kept, and used by many programs; some programs have one of their own. */
const OBJECTS_KEPT = 24
const kept: unknown[] = []
function someObject(random: Random): unknown {
  if (random.chance(0.02)) return convert(object(random))
  const index = random.below(OBJECTS_KEPT)
  kept[index] ??= convert(object(new Random(index)))
  return kept[index]
}

export const celPrograms: Fuzzer = {
  name: 'CEL programs',
  attempts: 150,
  start: () => ({
    attempt(random) {
      const source = new ProgramGenerator(random, variables).expression(BOOL, 3)
      const self = someObject(random)
      const compiled = compile(source, new Map([['self', type]]))
      if ('phase' in compiled) return
      let spent = evaluated(source, compiled.program, self)
      // A second time shows what the program itself takes: in the first, garbage of other programs may be collected.
      if (spent.milliseconds > MOST_MILLISECONDS || spent.bytes > MOST_BYTES)
        spent = evaluated(source, compiled.program, self)
      if (spent.milliseconds > MOST_MILLISECONDS) throw new Error(`${source}: ${spent.milliseconds} ms of CPU time`)
      if (spent.bytes > MOST_BYTES) throw new Error(`${source}: ${spent.bytes} bytes`)
    },
  }),
}

/** Evaluates a program; what it takes of CPU time and of memory. Throws for errors that are not CEL's own. */
function evaluated(source: string, program: Program, self: unknown): { milliseconds: number; bytes: number } {
  const heap = process.memoryUsage()
  const started = process.cpuUsage()
  try {
    program({ self })
  } catch (error) {
    if (!(error instanceof CelError)) throw new Error(`${source}: ${error instanceof Error ? error.stack : error}`)
  }
  const { user, system } = process.cpuUsage(started)
  const { heapUsed, external } = process.memoryUsage()
  return { milliseconds: (user + system) / 1_000, bytes: heapUsed + external - heap.heapUsed - heap.external }
}
