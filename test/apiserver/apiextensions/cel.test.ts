/** Rules as people write them, on values as they stand in objects: each holds or fails as named. */
import t from 'tap'
import { rulesOf } from '../../../apiserver/apiextensions/cel/rule-check.ts'
import { compileRules } from '../../../apiserver/apiextensions/cel/rule-compiler.ts'
import type { JSONSchemaProps } from '../../../apiserver/schema/json-schema.ts'
import { SchemaWork } from '../../../apiserver/schema/schema-work.ts'
import { validateValue } from '../../../apiserver/schema/value-validator.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'

const { celSteps } = defaultWorkLimits

const text: JSONSchemaProps = { type: 'string' }
const integer: JSONSchemaProps = { type: 'integer' }
const properties: Record<string, JSONSchemaProps> = {
  s: text,
  n: integer,
  f: { type: 'number' },
  b: { type: 'boolean' },
  list: { type: 'array', items: text },
  numbers: { type: 'array', items: integer },
  items: { type: 'array', items: { type: 'object', properties: { name: text, port: integer } } },
  map: { type: 'object', additionalProperties: text },
  nested: { type: 'object', properties: { x: text, 'dash-ed': integer, in: text } },
  port: { 'x-kubernetes-int-or-string': true },
  at: { type: 'string', format: 'date-time' },
  span: { type: 'string', format: 'duration' },
  data: { type: 'string', format: 'byte' },
}
const value = {
  s: 'hello',
  n: 5,
  f: 1.5,
  b: true,
  list: ['a', 'b'],
  numbers: [3, 1, 2],
  items: [{ name: 'web', port: 80 }, { name: 'tls' }],
  map: { k: 'v', other: 'w' },
  nested: { x: 'y', 'dash-ed': 2, in: 'z' },
  port: 8080,
  at: '2024-05-06T07:08:09Z',
  span: '90s',
  data: 'aGk=',
}

function check(rule: string): string[] {
  const schema: JSONSchemaProps = { type: 'object', properties, 'x-kubernetes-validations': [{ rule }] }
  for (const compiled of compileRules(schema, false).rules) if (!('holds' in compiled)) return [compiled.text]
  return (rulesOf(schema, celSteps)?.(value, undefined, schema, 'spec') ?? []).map(errorBody)
}

const holding = [
  'self.n > 4 && self.n < 6',
  'self.f == 1.5',
  'has(self.s) && !has(self.nested.x) || self.nested.x == "y"',
  'self.s.startsWith("he") && self.s.endsWith("lo") && self.s.contains("ll")',
  'self.s.matches("^h.*o$")',
  'self.s.size() == 5 && size(self.list) == 2',
  'self.list.all(x, x != "c") && self.list.exists(x, x == "a") && self.list.exists_one(x, x == "b")',
  'self.list.map(x, x + "!") == ["a!", "b!"]',
  'self.numbers.filter(x, x > 1).size() == 2',
  'self.numbers.sum() == 6 && self.numbers.max() == 3 && self.numbers.min() == 1',
  '!self.numbers.isSorted() && self.list.isSorted()',
  'self.list.indexOf("b") == 1',
  'self.items.all(i, i.name.size() > 0)',
  'self.items.filter(i, has(i.port)).map(i, i.port) == [80]',
  '"k" in self.map && self.map["k"] == "v"',
  'self.map.all(key, self.map[key].size() == 1)',
  'self.nested.dash__dash__ed == 2 || true',
  'self.nested.__in__ == "z"',
  'type(self.port) == int ? self.port < 65536 : true',
  'self.at > timestamp("2020-01-01T00:00:00Z")',
  'self.at.getFullYear() == 2024',
  'self.span > duration("1m")',
  'quantity("1Gi").isGreaterThan(quantity("500Mi"))',
  'quantity("500m").add(quantity("1500m")).compareTo(quantity("2")) == 0',
  'isQuantity("1Ki") && !isQuantity("x")',
  'ip("10.1.2.3").family() == 4 && isIP("fd00::1") && !isIP("1.2.3")',
  'cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")',
  'url("https://example.com:80/a?b=c").getHost() == "example.com:80"',
  'url("https://example.com/a").getEscapedPath() == "/a"',
  '"a-b-c".replace("-", "_") == "a_b_c"',
  '"x1y22".findAll("[0-9]+") == ["1", "22"]',
  '"abc".find("b.") == "bc"',
  '"a,b".split(",").size() == 2 && ["a", "b"].join("-") == "a-b"',
  '"AbC".lowerAscii() == "abc" && "abc".upperAscii() == "ABC"',
  '"  x ".trim() == "x" && "abc".substring(1, 2) == "b" && "abc".charAt(1) == "b"',
  'sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 2], [2, 1])',
  'self.?nested.?x.orValue("none") == "y"',
  '!format.dns1123Label().validate("Bad_Name").hasValue() == false',
  'self.b ? true : false',
  '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$") == false',
  '".matches(" == ".matches("',
  'self.nested == self.nested',
]
for (const rule of holding) t.strictSame(check(rule), [], rule)

const failing: [rule: string, says: string][] = [
  ['self.n > 9', 'Invalid value: failed rule: self.n > 9'],
  ['self.items[1].port > 1', 'Invalid value: "object": no such key: port evaluating rule: self.items[1].port > 1'],
  ['self.n / 0 == 1', 'Invalid value: "object": division by zero evaluating rule: self.n / 0 == 1'],
]
for (const [rule, says] of failing) t.strictSame(check(rule), [says], rule)

const refused: [rule: string, says: string][] = [
  [
    'self.missing == 1',
    "compilation failed: ERROR: <input>:1:5: undefined field 'missing'\n | self.missing == 1\n | ....^",
  ],
  [
    'nope > 1',
    "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope > 1\n | ^",
  ],
  [
    'self.s == 1',
    "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(string, int)'\n | self.s == 1\n | .......^",
  ],
  ['self.s', 'cel expression must evaluate to a bool'],
]
for (const [rule, says] of refused) t.strictSame(check(rule), [says], rule)

t.test('a rule that fails to run is told by its message', async (t) => {
  const schema: JSONSchemaProps = {
    type: 'object',
    properties,
    'x-kubernetes-validations': [
      { rule: 'self.items[5].port > 1', message: ' each item has a port ' },
      { rule: 'self.port.startsWith("h")', message: 'the port is a name' },
    ],
  }
  t.strictSame((rulesOf(schema, celSteps)?.(value, undefined, schema, 'spec') ?? []).map(errorBody), [
    'Invalid value: "object": index out of bounds: 5 evaluating rule: each item has a port',
    `Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: the port is a name`,
  ])
})

t.test('what did not change is not held against the writer, but for what depends on the old value', async (t) => {
  const odd: JSONSchemaProps = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self % 2 == 1' }] }
  const schema: JSONSchemaProps = {
    type: 'object',
    properties: { list: { type: 'array', items: odd }, n: odd, other: integer },
    'x-kubernetes-validations': [{ rule: 'self.other > oldSelf.other', message: 'other grows' }],
  }
  const check = (now: object, before: object): string[] =>
    (rulesOf(schema, celSteps)?.(now, before, schema, '') ?? []).map(({ field }) => field ?? '')
  t.strictSame(check({ list: [2], n: 4, other: 2 }, { list: [2], n: 4, other: 1 }), [])
  t.strictSame(check({ list: [2, 3], n: 4, other: 2 }, { list: [2], n: 4, other: 1 }), ['list[0]'])
  t.strictSame(check({ list: [2], n: 6, other: 1 }, { list: [2], n: 4, other: 1 }), ['<nil>', 'n'])
})

t.test('a fieldPath is named by fields and keys', async (t) => {
  const at = (fieldPath: string): (string | undefined)[] => {
    const schema: JSONSchemaProps = {
      type: 'object',
      properties: { ...properties, 'a.b': { type: 'object', properties: { c: text } } },
      'x-kubernetes-validations': [{ rule: 'false', fieldPath }],
    }
    return (rulesOf(schema, celSteps)?.(value, undefined, schema, 'spec') ?? []).map(({ field }) => field)
  }
  t.strictSame(at(".nested['x']"), ['spec.nested.x'])
  t.strictSame(at("['a.b'].c"), ['spec.a.b.c'])
  t.strictSame(at(".map['k']"), ['spec.map[k]'])
})

t.test('URLs that a browser would refuse or rewrite', async (t) => {
  const holding = [
    `url('file:///a/../b').getEscapedPath() == '/a/../b' && url('file:///a').getHost() == ''`,
    `url('oci://Example.com:99999/a').getHost() == 'Example.com:99999'`,
    `url('http://a_b.example/é?q=1&q=2').getEscapedPath() == '/%C3%A9'`,
  ]
  for (const rule of holding) t.strictSame(check(rule), [], rule)
})

t.test('allOf tells when no branch holds', async (t) => {
  const schema: JSONSchemaProps = { allOf: [{ enum: ['a'] }, { enum: ['b'] }] }
  const said = (text: string): string[] =>
    validateValue(text, schema, { path: 'spec', work: new SchemaWork(defaultWorkLimits) }).map(errorBody)
  t.ok(said('c').includes('Invalid value: "": "" must validate all the schemas (allOf). None validated'))
  t.ok(said('a').includes('Invalid value: "": "" must validate all the schemas (allOf)'))
})

t.test('no rule runs for ever', async (t) => {
  const started = process.cpuUsage()
  const [said] = check('lists.range(10000).all(a, lists.range(10000).all(b, a + b >= 0))')
  t.match(said, "'operation cancelled: actual cost limit exceeded': no further validation rules will be run")
  const digits = '1'.repeat(200_000)
  const schema: JSONSchemaProps = {
    ...text,
    'x-kubernetes-validations': [{ rule: 'duration(self) == duration("1s") || double(self + "x") > 1.0' }],
  }
  t.equal(rulesOf(schema, celSteps)?.(digits, undefined, schema, 'spec').length, 1)
  t.ok(process.cpuUsage(started).user < 5_000_000, 'in a bounded time')
})
