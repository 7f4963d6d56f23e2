/** Rules and patterns that a client defines, and then asks the server to evaluate. */
import type { Attack, Request } from '../attack.ts'
import { times } from '../times.ts'

const group = 'budgets.example.com'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export const string = { type: 'string' }
export const list = (items: object, more: object = {}): object => ({ type: 'array', items, ...more })

export function definition(plural: string, properties: object, rules: string[] = []): object {
  const spec = {
    type: 'object',
    properties,
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules.map((rule) => ({ rule })) }),
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind: plural[0]?.toUpperCase() + plural.slice(1) },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  }
}

export const define = (body: object, query = ''): Request => ({
  method: 'POST',
  path: `${definitions}${query}`,
  body: JSON.stringify(body),
})
export const objectPath = (plural: string, name: string): string => `/apis/${group}/v1/${plural}/${name}`
export const create = (plural: string, spec: object, { name = 'x', query = '?dryRun=All' } = {}): Request => ({
  method: 'POST',
  path: `/apis/${group}/v1/${plural}${query}`,
  body: JSON.stringify({
    apiVersion: `${group}/v1`,
    kind: plural[0]?.toUpperCase() + plural.slice(1),
    metadata: { name },
    spec,
  }),
})

/** What the attacks use; stored before they begin. */
export const definitionsToAttack: Request[] = [
  define(
    definition('nesteds', { items: list({ type: 'integer' }, { maxItems: 100 }) }, [
      'self.items.all(a, self.items.all(b, self.items.all(c, a + b + c >= 0)))',
    ]),
  ),
  define(definition('greedies', { text: { ...string, pattern: '^(a|aa|a*)*$', maxLength: 100_000 } })),
  define(
    definition('matchers', { text: { ...string, maxLength: 20_000 }, by: { ...string, maxLength: 250 } }, [
      'self.text.matches(self.by)',
    ]),
  ),
  define(
    definition(
      'concats',
      { items: list({ type: 'integer' }, { maxItems: 500 }), text: { ...string, maxLength: 2_000 } },
      ['self.items.map(i, self.text + self.text + self.text).size() > 0'],
    ),
  ),
  define(
    definition('collections', {
      set: list(string, { 'x-kubernetes-list-type': 'set' }),
      map: list(
        { type: 'object', properties: { name: string }, required: ['name'] },
        { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
      ),
      chosen: list({ ...string, enum: times(5_000, (i) => `e${i}`) }),
    }),
  ),
]

/** One evaluation may take as long as upstream's limits let it. */
const evaluation = { msPerRequest: 1_500, bystanderMs: 1_500 }
const documents = { nsPerByte: 5_000, bystanderMs: 2_000 }

export const customResources: Attack[] = (
  [
    {
      name: 'CEL: loops in loops',
      requests: () => [create('nesteds', { items: times(100, (i) => i) })],
      answers: [422],
      budget: evaluation,
    },
    {
      name: 'CEL: texts that grow',
      requests: () => [create('concats', { items: times(500, (i) => i), text: 'x'.repeat(2_000) })],
      answers: [201, 422],
      budget: evaluation,
    },
    {
      name: 'CEL: a regular expression from the client',
      requests: () => [create('matchers', { text: 'a'.repeat(20_000), by: `${'(a?){1,30}'.repeat(20)}b` })],
      answers: [201, 422],
      budget: evaluation,
    },
    {
      name: 'CEL: a rule that is deep',
      requests: () => [
        define(definition('deeps', { a: string }, [`${'('.repeat(50_000)}true${')'.repeat(50_000)}`]), '?dryRun=All'),
      ],
      answers: [422],
      budget: documents,
    },
    {
      name: 'CEL: a rule that is long',
      requests: () => [
        define(definition('longs', { a: string }, [times(20_000, () => "self.a == 'x'").join(' || ')]), '?dryRun=All'),
      ],
      answers: [201, 400, 422],
      budget: documents,
    },
    {
      name: 'CEL: many rules',
      requests: () => [
        define(
          definition(
            'manies',
            { a: string },
            times(2_000, (i) => `self.a != 'x${i}'`),
          ),
          '?dryRun=All',
        ),
      ],
      answers: [201, 422],
      budget: { nsPerByte: 15_000, bystanderMs: 3_000 },
    },
    {
      name: 'a pattern that backtracks',
      requests: () => [create('greedies', { text: `${'a'.repeat(50_000)}!` })],
      answers: [422],
      budget: evaluation,
    },
    {
      name: 'patterns that are large when unfolded',
      requests: () => [
        define(
          definition(
            'unfoldeds',
            Object.fromEntries(times(100, (i) => [`p${i}`, { ...string, pattern: '((a{1,30}){1,30})b{1,1000}' }])),
          ),
          '?dryRun=All',
        ),
      ],
      answers: [201, 422],
      budget: { ...documents, nsPerByte: 200_000 },
    },
    {
      name: 'lists of custom resources that may hold nothing twice',
      requests: () => [
        create('collections', {
          set: times(30_000, (i) => `s${i % 15_000}`),
          map: times(15_000, (i) => ({ name: `m${i}` })),
          chosen: times(10_000, () => 'e4999'),
        }),
      ],
      answers: [422],
      budget: documents,
    },
    {
      name: 'a schema that is deep',
      requests: () => {
        let schema: object = string
        for (let depth = 0; depth < 1_000; depth++) schema = { type: 'object', properties: { a: schema } }
        return [define(definition('schemas', { a: schema }), '?dryRun=All')]
      },
      answers: [201, 400, 422],
      budget: documents,
    },
    {
      name: 'a schema that is wide',
      requests: () => [
        define(definition('wides', Object.fromEntries(times(20_000, (i) => [`p${i}`, string]))), '?dryRun=All'),
      ],
      answers: [201, 422],
      budget: { ...documents, nsPerByte: 8_000 },
    },
  ] satisfies Attack[]
).map((attack) => ({ by: 'admin', ...attack }))
