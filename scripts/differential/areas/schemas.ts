/** Random schemas of custom resources, and values that fit them more or less. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { JsonObject } from '../bases.ts'
import { oddValue } from '../mutate.ts'

export interface Schema extends JsonObject {
  type?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
}

const names = ['a', 'b', 'c', 'name', 'replicas', 'b-c', 'in'] as const

/** Rules for a value of each type. Some are wrong, and refused with their definition. */
const rules: Readonly<Record<string, readonly string[]>> = {
  string: [
    'self.size() < 5', 'self == oldSelf', "self.startsWith('a')", "self != 'x'", "self.matches('^[a-z]*$')", 'size(self) > 0',
    "self.lowerAscii() == self", "self.contains('a') || self.contains('b')", "int(self) > 0", "duration(self) > duration('1s')",
    "self.split(',').all(s, s.size() < 3)", "isQuantity(self)", "self.find('[0-9]+') == ''", 'self > 1', 'self.foo()', 'self ==', "url(self).getHost() == ''",
    "ip(self).family() == 4", "self.format(['x'])", "string(self) == self", "oldSelf == '' || self != ''", "self in ['a', 'b']", "has(self.x)",
  ],
  integer: [
    'self > 0', 'self >= oldSelf', 'self < 100', 'self % 2 == 0', 'self / 0 == 1', "self == 'a'", 'double(self) > 0.5', 'self == oldSelf + 1',
    'self in [1, 2, 3]', "string(self) == '1'", 'self * 2 < 10 ? true : self == 7', 'self', '-self < 0', 'self < 9223372036854775807',
  ],
  number: ['self > 0.0', 'self >= oldSelf', 'self > 0', 'self < 1.5 || self > 2.5', 'int(self) == 1'],
  boolean: ['self', '!self', 'self == oldSelf', 'self || true', 'self > 1'],
  array: [
    'self.size() < 3', 'self.all(x, x == x)', 'self.exists(x, x == x)', 'size(self) > 0', 'self == oldSelf', 'self.map(x, x).size() == self.size()',
    'self[0] == self[0]', 'self.all(x, oldSelf.exists(y, x == y))', 'self.exists_one(x, true)', 'self.isSorted()', 'self.sum() > 0', 'self.all(x, y, true)',
  ],
  object: [
    'has(self.a)', '!has(self.a) || has(self.b)', 'self == oldSelf', 'has(self.a) && self.a == self.a', 'self.a == self.b', 'has(self.missing)', 'true', 'false',
    'self.size() < 2', "self.all(k, k != 'x')", "'a' in self", 'has(self.b__dash__c)', 'has(self.__in__)', 'has(self.b-c)', 'oldSelf.hasValue() || true', 'self.?a.orValue(1) == 1',
  ],
} // biome-ignore format: a table

const messages: readonly JsonObject[] = [
  {},
  {},
  { message: 'wrong' },
  { message: '' },
  { message: 'a\nb' },
  { messageExpression: "'wrong ' + string(self)" },
  { messageExpression: "'wrong'" },
  { messageExpression: '1' },
  { messageExpression: "self + ' is wrong'", message: 'other' },
  { reason: 'FieldValueForbidden' },
  { reason: 'FieldValueRequired', message: 'needed' },
  { reason: 'x' },
  { fieldPath: '.a' },
  { fieldPath: '.x' },
  { optionalOldSelf: true },
]

/** The chance that a part of a definition is one that is refused, or nearly. */
const oddity = 0.02

export function schemaOf(random: Random, depth: number): Schema {
  const type = random.pick(
    depth > 0
      ? ['object', 'object', 'array', 'string', 'integer', 'map']
      : ['string', 'integer', 'number', 'boolean', 'intOrString', 'any', 'string'],
  )
  const schema = typed(type, random, depth)
  if (random.chance(0.1)) schema.nullable = true
  if (random.chance(0.1)) schema.description = 'A field.'
  if (random.chance(0.15) && schema.type && schema.type !== 'object')
    schema.default = random.chance(0.9) ? fitting(schema, random) : oddValue(random)
  if (random.chance(0.25)) Object.assign(schema, { 'x-kubernetes-validations': [ruleFor(schema, random)] })
  if (random.chance(0.06)) Object.assign(schema, logicFor(schema, random))
  if (random.chance(oddity)) Object.assign(schema, random.pick(oddParts))
  return schema
}

const oddParts: readonly JsonObject[] = [
  { type: 'x' },
  { type: '' },
  { format: 'x' },
  { pattern: '(' },
  { default: null },
  { 'x-kubernetes-preserve-unknown-fields': true },
  { 'x-kubernetes-embedded-resource': true },
  { 'x-kubernetes-list-type': 'map' },
  { 'x-kubernetes-map-type': 'atomic' },
  { uniqueItems: true },
  { $ref: '#/x' },
  { example: 1 },
  { externalDocs: { url: 'x' } },
  { title: 't' },
  { id: 'x' },
  { patternProperties: { a: {} } },
  { required: ['x'] },
  { required: [] },
  { enum: [] },
  { enum: [1, 1] },
  { minimum: 5, maximum: 1 },
  { multipleOf: 0 },
  { minLength: -1 },
]

function ruleFor(schema: Schema, random: Random): JsonObject {
  const kind = schema.type ?? 'string'
  return { rule: random.pick(rules[kind] ?? rules.string!), ...random.pick(messages) }
}

/** Alternatives without types, as a structural schema wants them. */
function logicFor(schema: Schema, random: Random): JsonObject {
  const parts: Readonly<Record<string, readonly JsonObject[]>> = {
    string: [{ pattern: '^a' }, { maxLength: 2 }, { enum: ['a'] }, { format: 'date' }],
    integer: [{ minimum: 2 }, { maximum: 1 }, { enum: [1] }],
    object: [{ required: ['a'] }, { required: ['b'] }, { properties: { a: { minLength: 2 } } }, { maxProperties: 1 }],
    array: [{ minItems: 1 }, { maxItems: 1 }],
  }
  const known = parts[schema.type ?? ''] ?? [{ minLength: 1 }]
  const [one, two] = [random.pick(known), random.pick(known)]
  return random.pick([{ anyOf: [one, two] }, { oneOf: [one, two] }, { allOf: [one] }, { not: one }])
}

function typed(type: string, random: Random, depth: number): Schema {
  const maybe = (fields: JsonObject): JsonObject => (random.chance(0.2) ? fields : {})
  switch (type) {
    case 'object': {
      const properties: Record<string, Schema> = {}
      for (let more = 1 + random.below(3); more > 0; more--)
        properties[random.pick(names)] = schemaOf(random, depth - 1)
      const required = Object.keys(properties).slice(0, 1)
      return {
        type: 'object',
        properties,
        ...maybe({ required }),
        ...(random.chance(0.1) && { 'x-kubernetes-preserve-unknown-fields': true }),
        ...(random.chance(0.08) && { 'x-kubernetes-map-type': random.pick(['atomic', 'granular']) }),
        ...(random.chance(0.05) && { maxProperties: 2, minProperties: 1 }),
      }
    }
    case 'map':
      return {
        type: 'object',
        additionalProperties: schemaOf(random, depth - 1),
        ...maybe({ maxProperties: 2 }),
        ...maybe({ minProperties: 1 }),
      }
    case 'array':
      return arrayOf(random, depth)
    case 'string':
      return {
        type,
        ...maybe({ pattern: random.pick(['^[a-z]+$', '^\\d', 'a|b', '']) }),
        ...maybe({ minLength: random.pick([1, 2, 0]) }),
        ...maybe({ maxLength: random.pick([3, 10, 0]) }),
        ...maybe({
          enum: random.pick([
            ['a', 'b'],
            ['a', ''],
          ]),
        }),
        // biome-ignore format: a list
        ...maybe({ format: random.pick(['date-time', 'date', 'ipv4', 'ipv6', 'uuid', 'byte', 'duration', 'email', 'uri', 'cidr', 'hostname', 'mac', 'password', 'x', 'quantity', 'k8s-short-name']) }),
      }
    case 'integer':
      return {
        type,
        ...maybe({ minimum: random.pick([0, 1, -5]) }),
        ...maybe({ maximum: random.pick([5, 100]) }),
        ...maybe({ minimum: 0, exclusiveMinimum: true }),
        ...maybe({ multipleOf: random.pick([2, 3]) }),
        ...maybe({ format: random.pick(['int32', 'int64']) }),
        ...maybe({ enum: [1, 2] }),
      }
    case 'number':
      return {
        type,
        ...maybe({ minimum: 0.5 }),
        ...maybe({ maximum: 2.5, exclusiveMaximum: true }),
        ...maybe({ multipleOf: 0.5 }),
        ...maybe({ format: random.pick(['float', 'double']) }),
      }
    case 'intOrString':
      return { 'x-kubernetes-int-or-string': true, ...maybe({ pattern: '^[0-9]+%$' }), ...maybe({ maximum: 5 }) }
    case 'any':
      return { 'x-kubernetes-preserve-unknown-fields': true, ...(random.chance(0.5) && { type: 'object' }) }
    default:
      return { type }
  }
}

function arrayOf(random: Random, depth: number): Schema {
  const items = schemaOf(random, depth - 1)
  const kind = random.pick(['', '', 'atomic', 'set', 'map'])
  if (kind === 'map') {
    const keyed: Schema = { type: 'object', properties: { name: { type: 'string' }, v: items }, required: ['name'] }
    if (random.chance(0.2)) keyed.properties!.p = { type: 'string', default: 'q' }
    const keys = keyed.properties!.p && random.chance(0.7) ? ['name', 'p'] : ['name']
    return { type: 'array', items: keyed, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
  }
  return {
    type: 'array',
    items,
    ...(kind && { 'x-kubernetes-list-type': kind }),
    ...(random.chance(0.2) && { maxItems: random.pick([2, 5]) }),
    ...(random.chance(0.1) && { minItems: 1 }),
  }
}

const texts: Readonly<Record<string, string>> = {
  'date-time': '2020-01-01T00:00:00Z', date: '2020-01-01', ipv4: '1.2.3.4', ipv6: '::1', byte: 'eA==', duration: '1s', email: 'a@b.c',
  uuid: 'a0000000-0000-4000-8000-000000000000', uri: 'http://a/b', cidr: '10.0.0.0/8', hostname: 'a.b', mac: '00:00:00:00:00:01',
} // biome-ignore format: a table

/** Returns a value that fits the schema, more or less. */
export function fitting(schema: Schema, random: Random): unknown {
  if (random.chance(0.03)) return oddValue(random)
  if (schema.default !== undefined && random.chance(0.3)) return structuredClone(schema.default)
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && random.chance(0.9)) return random.pick(schema.enum)
  if (schema['x-kubernetes-int-or-string']) return random.pick([1, '10%', 'a', 7])
  switch (schema.type) {
    case 'string':
      return random.chance(0.8)
        ? (texts[schema.format as string] ?? random.pick(['a', 'b', 'ab', 'abc', '1', '']))
        : random.pick(['abcdef', 'A', 'é', '10'])
    case 'integer':
      return random.pick([1, 2, 4, 0, 6, 7, -1, 3_000_000_000])
    case 'number':
      return random.pick([1, 0.5, 2.5, 1.25, -1])
    case 'boolean':
      return random.chance(0.5)
    case 'array':
      return Array.from({ length: random.below(4) }, () => fitting(schema.items ?? {}, random))
    case 'object':
      return mapOf(schema, random)
    default:
      return random.pick<unknown>([{ a: 1 }, 'a', 1, [1], { a: { b: [{}] } }])
  }
}

function mapOf(schema: Schema, random: Random): JsonObject {
  const out: JsonObject = {}
  const { properties = {}, additionalProperties } = schema
  for (const [name, inner] of Object.entries(properties)) if (random.chance(0.75)) out[name] = fitting(inner, random)
  if (typeof additionalProperties === 'object')
    for (let more = random.below(3); more > 0; more--)
      out[random.pick(['a', 'b', 'x'])] = fitting(additionalProperties, random)
  if (random.chance(0.05)) out.extra = 1
  return out
}
