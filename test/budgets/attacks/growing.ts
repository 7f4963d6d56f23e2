/** Requests of which one step makes more than it has read: schemas × values, defaults, owners, refusals. */
import type { Attack, Request } from '../attack.ts'
import { times } from '../times.ts'
import { create, define, definition, list, objectPath, string } from './custom-resources.ts'

const patterns = times(2_000, (i) => ({ pattern: `^b${i}$` }))
const keys = (count: number, value: unknown): object => Object.fromEntries(times(count, (i) => [`k${i}`, value]))
const required = times(2_000, (i) => `k${i}`)
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const open = (kind: string): object => ({ type: 'object', additionalProperties: { type: kind } })
const keyed = (names: string[]): object => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': names,
})

/** Stored before the attacks begin. */
export const definitionsThatGrow: Request[] = [
  define(
    definition('choosers', { any: list({ ...string, anyOf: patterns }), one: list({ ...string, oneOf: patterns }) }),
  ),
  define(
    definition('nesters', {
      all: list({ ...string, allOf: times(40, () => ({ anyOf: times(100, () => ({ minLength: 5 })) })) }),
      none: list({ ...string, not: { anyOf: patterns } }),
    }),
  ),
  define(definition('requirers', { items: list({ type: 'object', properties: keys(2_000, string), required }) })),
  define(
    definition('fillers', {
      items: list({ type: 'object', properties: { text: { ...string, default: 'x'.repeat(100_000) } } }),
      wides: list({ type: 'object', properties: keys(1_000, { ...string, default: 'x' }) }),
    }),
  ),
  define(
    definition('keyeds', {
      items: list({ type: 'object', properties: keys(1_000, string), required }, keyed(required.slice(0, 1_000))),
    }),
  ),
  define(definition('opens', { numbers: open('integer'), anything, choice: list({ type: 'string', enum: required }) })),
  define(definition('slows', { text: { ...string, pattern: `${'(a?){1,30}'.repeat(20)}b$` } })),
  create('opens', { anything: keys(45_000, 1) }, { name: 'owned', query: '?fieldManager=first' }),
]

const apply = (body: object | string, query: string): Request => ({
  method: 'PATCH',
  path: `${objectPath('opens', 'owned')}?dryRun=All&fieldManager=${query}`,
  type: 'application/apply-patch+yaml',
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const openObject = (anything: object): object => ({
  apiVersion: 'budgets.example.com/v1',
  kind: 'Opens',
  metadata: { name: 'owned' },
  spec: { anything },
})
const yamlOf = (count: number): string =>
  [
    'apiVersion: budgets.example.com/v1',
    'kind: Opens',
    'metadata: {name: owned}',
    'spec:',
    '  anything:',
    ...times(count, (i) => `    k${i}: 2`),
  ].join('\n')

/** One request may not hold the loop for a second, whatever it multiplies. */
const second = { msPerRequest: 800, nsPerByte: 800, bystanderMs: 1_000 }

export const growing: Attack[] = (
  [
    ['anyOf: 2,000 patterns for each of 10,000 items', () => create('choosers', { any: times(10_000, () => 'a') })],
    ['oneOf: 2,000 patterns for each of 10,000 items', () => create('choosers', { one: times(10_000, () => 'a') })],
    ['allOf of anyOf, for each of 10,000 items', () => create('nesters', { all: times(10_000, () => 'a') })],
    ['not anyOf, for each of 10,000 items', () => create('nesters', { none: times(10_000, () => 'a') })],
    ['2,000 required fields in each of 40,000 items', () => create('requirers', { items: times(40_000, () => ({})) })],
    ['a default of 100 kB in each of 40,000 items', () => create('fillers', { items: times(40_000, () => ({})) })],
    ['1,000 defaults in each of 40,000 items', () => create('fillers', { wides: times(40_000, () => ({})) })],
    ['1,000 keys in each of 40,000 items', () => create('keyeds', { items: times(40_000, () => ({})) })],
    ['a pattern that is large when unfolded', () => create('slows', { text: 'ac'.repeat(700_000) })],
    ['90,000 wrong values under additionalProperties', () => create('opens', { numbers: keys(90_000, 'a') })],
    ['90,000 values that are none of 2,000', () => create('opens', { choice: times(90_000, () => 'a') })],
    ['a wrong value of a megabyte', () => create('opens', { choice: ['<'.repeat(1_000_000)] })],
    [
      'a definition of 10,000 patterns, large when unfolded',
      () => {
        const pattern = (i: number): string => `((a{1,30}){1,30})b{1,1000}${i}`
        const properties = Object.fromEntries(times(10_000, (i) => [`p${i}`, { ...string, pattern: pattern(i) }]))
        return define(definition('unfolders', properties), '?dryRun=All')
      },
    ],
  ] satisfies [string, () => Request][]
).map(([name, make]): Attack => ({ name, by: 'admin', requests: () => [make()], answers: [400, 422], budget: second }))

export const growingFields: Attack[] = [
  {
    name: 'managedFields: an object of 90,000 fields',
    requests: () => [create('opens', { anything: keys(90_000, 1) })],
    answers: [201],
    budget: second,
  },
  {
    name: 'apply: 45,000 conflicts',
    requests: () => [apply(openObject(keys(45_000, 2)), 'second')],
    answers: [409],
    budget: second,
  },
  {
    name: 'apply: 90,000 keys',
    requests: () => [apply(openObject(keys(90_000, 2)), 'second&force=true')],
    answers: [413],
    budget: second,
  },
  {
    name: 'apply: 90,000 keys in YAML',
    requests: () => [apply(yamlOf(90_000), 'second&force=true')],
    answers: [413],
    budget: { ...second, msPerRequest: 1_500, bystanderMs: 1_500 },
  },
].map((attack): Attack => ({ by: 'admin', ...attack }))
