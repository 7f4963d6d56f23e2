/** What rules may cost while they run: no rule takes more than a second of CPU, or more than 200 MB, whatever it is given. */
import t from 'tap'
import { rulesOf } from '../../../apiserver/apiextensions/cel/rule-check.ts'
import type { CustomResourceDefinition } from '../../../apiserver/apiextensions/custom-resource-definition.ts'
import { validateDefinition } from '../../../apiserver/apiextensions/validity/spec-rules.ts'
import { compile } from '../../../apiserver/cel/environment.ts'
import type { JSONSchemaProps } from '../../../apiserver/schema/json-schema.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'

const text: JSONSchemaProps = { type: 'string' }
const list: JSONSchemaProps = { type: 'array', items: text }
const set: JSONSchemaProps = { ...list, 'x-kubernetes-list-type': 'set' }
const properties = { s: text, p: text, l: list, m: list, set, bytes: { type: 'string', format: 'byte' } }
const CANCELLED = /'operation cancelled: actual cost limit exceeded': no further validation rules will be run/
/** A single call may cost more than all rules together may. */
const STOPPED = /actual cost limit exceeded|running out of cost budget/

function check(rules: string[], value: object, message?: string): string[] {
  const validations = rules.map((rule) => ({ rule, ...(message && { messageExpression: message }) }))
  const schema: JSONSchemaProps = { type: 'object', properties, 'x-kubernetes-validations': validations }
  return (rulesOf(schema, defaultWorkLimits.celSteps)?.(value, undefined, schema, '') ?? []).map(errorBody)
}

const long = 'abcdefghij'.repeat(100_000)
const words = Array.from({ length: 100_000 }, (_, index) => `w${index}`)
const zones = Intl.supportedValuesOf('timeZone')
const TIME = "timestamp('2024-05-06T07:08:09Z')"
const cases: [name: string, rule: string, value: object][] = [
  ['indexOf of each character', "self.s.split('').all(c, self.s.indexOf(c) >= 0)", { s: long.slice(0, 60_000) }],
  [
    'replacements that grow',
    "self.s.replace('', '….').replace('', '….').replace('', '….') != ''",
    { s: long.slice(0, 400_000) },
  ],
  ['joins of joins', "self.l.map(a, self.l.join(',')).join('') != ''", { l: words }],
  ['sets.contains', 'sets.contains(self.l, self.l)', { l: words }],
  ['a list in a list of long texts', 'self.l.all(a, self.m.indexOf(a + "x") < 0)', { l: words, m: [long, long] }],
  ['a replacement by itself', "self.s.replace('a', self.s) != ''", { s: long }],
  ['lists of lists', 'self.l.map(a, self.l).map(a, self.l + self.l).flatten().size() > 0', { l: words }],
  ['size of a long text', 'self.l.all(a, self.s.size() > 0)', { l: words, s: long }],
  ['one character of a long text', 'self.l.all(a, self.s.charAt(5) == "f")', { l: words, s: long }],
  [
    'base64',
    'self.l.all(a, self.bytes.size() > 0 && self.s.size() > 0)',
    { l: words, bytes: 'aGk='.repeat(250_000), s: long },
  ],
  ['numbers of many digits', 'self.l.all(a, int(self.s) > 0 || true)', { l: words, s: '1'.repeat(1_000_000) }],
  ['comparison of long texts', 'self.l.all(a, self.s < self.p)', { l: words, s: long, p: `${long}x` }],
  [
    'equality of nested lists',
    'self.l.all(a, [[self.s]] != [[self.p]])',
    { l: words, s: long, p: `${long.slice(1)}a` },
  ],
  ['format of shared lists', "'%s'.format([self.l.map(a, self.l)]) != ''", { l: words }],
  ['a pattern that repeats', 'self.s.matches("(a?){20}a{20}$")', { s: 'a'.repeat(1_000_000) }],
  ['a pattern of the object', 'self.s.matches(self.p)', { s: 'a', p: 'a{1000}'.repeat(10_000) }],
  ['patterns of categories', 'self.l.all(a, !a.matches(self.p + a))', { l: words, p: '[^\\pL\\d]'.repeat(5_000) }],
  ['a pattern of open groups', 'self.l.all(a, !"".matches(self.p + a) || true)', { l: words, p: '('.repeat(2_000) }],
  ['versions that are none', 'self.l.filter(a, isSemver(a, true) || isSemver("1.2." + a)).size() == 0', { l: words }],
  ['quantities that are none', 'self.l.all(a, self.m.exists_one(b, isQuantity(b)))', { l: words, m: words }],
  ['every match', 'self.s.findAll(".").size() > 0', { s: long }],
  ['unknown time zones', `self.l.all(a, ${TIME}.getHours(a) == 0 || true)`, { l: words }],
  ['known time zones', `self.l.all(a, ${TIME}.getHours(a) >= 0)`, { l: words.map((_, index) => zones[index % 150]) }],
  ['unions of sets', 'self.l.all(a, (self.set + self.l).size() > 0)', { l: words, set: words }],
  ['the last of the texts', 'self.l.all(a, self.l.max() != "")', { l: words.map((word) => `😀${word}`) }],
]
for (const [name, rule, value] of cases)
  t.test(name, async (t) => {
    const started = process.cpuUsage()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    t.match(check([rule], value), [STOPPED])
    const { user } = process.cpuUsage(started)
    t.ok(user < 1_000_000, `${user} µs`)
    const after = process.memoryUsage()
    const made = after.heapUsed + after.arrayBuffers - heapUsed - arrayBuffers
    t.ok(made < 200_000_000, `${made} bytes`)
  })

t.test('calls that are linear here pay no more than upstream', async (t) => {
  const periodic = `${'a'.repeat(300_000)}b`
  const started = process.cpuUsage()
  t.strictSame(check(['self.s.indexOf(self.p) == -1'], { s: 'a'.repeat(900_000), p: periodic }), [])
  t.strictSame(check(['self.s.split(self.p).size() == 1'], { s: 'a'.repeat(900_000), p: periodic }), [])
  t.strictSame(check(["(' x'.replace('x', self.s) + 'x').trim() == 'x'"], { s: ' '.repeat(300_000) }), [])
  t.ok(process.cpuUsage(started).user < 1_000_000)
})

t.test('after a rule that reaches the limit, no other rule of the object runs', async (t) => {
  const said = check(["self.l.all(a, self.l.all(b, a != ''))", 'false'], { l: words })
  t.match(said, [CANCELLED])
})

t.test('all rules of one object share a budget', async (t) => {
  const expensive = 'self.l.all(a, a != "" && a.size() > 0)'
  const rules = Array.from({ length: 30 }, (_, index) => `${expensive} && ${index} >= 0`)
  t.strictSame(check(rules.slice(0, 10), { l: words }), [])
  t.strictSame(check(rules, { l: words }), [
    'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
  ])
})

t.test('a messageExpression has the limit of a rule', async (t) => {
  const message = "self.l.map(a, self.l.join(',')).join('')"
  t.strictSame(check(['false', 'false'], { l: words }, message), [
    `Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(message)}`,
  ])
})

t.test('an estimate refuses a new schema, and not one that was accepted before', async (t) => {
  const rule = { rule: 'self.all(a, self.all(b, a != b))' }
  const items = { type: 'string', maxLength: 100 }
  const names = { plural: 'costs', singular: 'cost', kind: 'Cost', listKind: 'CostList' }
  const definition = (maxItems: number): CustomResourceDefinition => {
    const list: JSONSchemaProps = { type: 'array', maxItems, items, 'x-kubernetes-validations': [rule] }
    const schema = { openAPIV3Schema: { type: 'object', properties: { list } } }
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'costs.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        conversion: { strategy: 'None' },
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
      status: { acceptedNames: names, storedVersions: ['v1'], conditions: [] },
    } as unknown as CustomResourceDefinition
  }
  const refused = (now: CustomResourceDefinition, before?: CustomResourceDefinition): string[] =>
    validateDefinition(now, before, defaultWorkLimits).map(({ field, detail }) => `${field}: ${detail}`)
  const field = 'spec.validation.openAPIV3Schema.properties[list].x-kubernetes-validations[0].rule'
  const hint =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
  t.strictSame(refused(definition(100)), [])
  t.strictSame(refused(definition(800)), [`${field}: estimated rule cost exceeds budget by factor of 2.9x ${hint}`])
  t.strictSame(refused(definition(800), definition(800)), [])
  t.equal(refused(definition(900), definition(800)).length, 1)
  t.equal(refused(definition(5_000), definition(5_000)).length, 2, 'but all rules together are bounded')
})

t.test('a definition compiles no pattern that is much larger than its text', async (t) => {
  const started = process.cpuUsage()
  const repeated = Array.from({ length: 10 }, (_, index) => `self.s.matches("${'a{1000}'.repeat(200 + index)}")`)
  const categories = `self.s.find("${'[^\\\\pL\\\\d]'.repeat(11_000)}") == ""`
  t.match(check([...repeated, categories], { s: 'a' }), [STOPPED])
  const { user } = process.cpuUsage(started)
  t.ok(user < 1_000_000, `${user} µs`)
  const wrong = compile('"a".matches("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9")', new Map())
  t.match(wrong, { text: /invalid matches argument/ }, 'others are compiled')
})

t.test('ordinary rules run as before', async (t) => {
  const thousand = words.slice(0, 1_000)
  t.strictSame(check(['self.l.all(a, self.l.exists_one(b, b == a))'], { l: thousand.slice(0, 300) }), [])
  t.strictSame(check(["self.l.all(a, a in ['w0', 'w1'] || a.startsWith('w'))"], { l: words }), [])
  t.strictSame(check(["self.l.join(',').split(',') == self.l"], { l: words }), [])
})
