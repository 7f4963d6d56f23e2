/** Values that schemas rarely meet; what kube-apiserver 1.36.3 says of them. */
import t from 'tap'
import { validateEmbedded } from '../../../apiserver/apiextensions/object-meta.ts'
import { unrecognizedFormats } from '../../../apiserver/apiextensions/unrecognized-formats.ts'
import { requireNames, validateNames } from '../../../apiserver/apiextensions/validity/names-rules.ts'
import { matchesFormat } from '../../../apiserver/schema/formats.ts'
import type { JSONSchemaProps } from '../../../apiserver/schema/json-schema.ts'
import { validateListTypes } from '../../../apiserver/schema/list-types.ts'
import { SchemaWork } from '../../../apiserver/schema/schema-work.ts'
import { validateValue } from '../../../apiserver/schema/value-validator.ts'
import { errorBody } from '../../../apiserver/validation/field-error.ts'
import type { FieldError } from '../../../apiserver/validation/field-errors.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'

const work = () => new SchemaWork(defaultWorkLimits)

const said = (errors: readonly FieldError[]): string[] => errors.map((error) => `${error.field}: ${errorBody(error)}`)
const check = (value: unknown, schema: JSONSchemaProps): string[] =>
  said(validateValue(value, schema, { path: 'f', work: work() }))

t.test('sizes do not end the checks, and what is required comes last', async (t) => {
  const schema = {
    type: 'object',
    maxProperties: 1,
    required: ['q'],
    properties: { a: { type: 'integer' }, b: { type: 'string' } },
  }
  t.same(check({ a: 'x', b: 'y' }, schema), [
    'f: Too many: 2: must have at most 1 item',
    'f.a: Invalid value: "string": a in body must be of type integer: "string"',
    'f.q: Required value',
  ])
})

t.test('enums: numbers are converted to the type of each value, and null is in none', async (t) => {
  const allowed = [1, 2.5, 'a']
  for (const value of [1, 1.9, 2.5, 97, 'a']) t.same(check(value, { enum: allowed }), [], String(value))
  for (const value of [2, 2.6, 98, '1', true, null]) t.equal(check(value, { enum: allowed }).length, 1, String(value))
  t.match(check(null, { type: 'string', nullable: true, enum: ['a', null] }), [/Unsupported value: null/])
})

t.test('numbers', async (t) => {
  t.match(check(4, { type: 'number', multipleOf: 0.5 }), [/Invalid value: 0: factor MultipleOf .* must be positive: 0/])
  t.same(check(2.5, { type: 'number', multipleOf: 0.5 }), [])
  t.match(check(1e40, { type: 'number', multipleOf: 0.5 }), [/1e\+40: .* should be a multiple of 0.5/])
  t.match(check(2.5, { type: 'integer', format: 'int32' })[0], /must be of type int32: "float64"/)
  const formats = { a: ['number', 'int32'], b: ['object', 'date'], c: ['boolean', 'byte'], d: ['integer', 'int64'] }
  const properties = Object.fromEntries(
    Object.entries(formats).map(([name, [type, format]]) => [name, { type, format }]),
  ) as JSONSchemaProps['properties']
  t.same(unrecognizedFormats({ type: 'object', properties }), ['int32', 'date', 'byte'])
})

t.test('formats', async (t) => {
  const good = {
    duration: ['P1D', '1d2x', '3 M', '2 Week', '1microx', '1h30m'],
    mac: ['AABBCCDDEEFF', '4111111111111111', '41:11:11:11:11:11'],
    ssn: ['123-45-6789', '123 45 6789'],
  }
  const bad = { duration: ['1x', '5', '99999999999999999999d'], mac: ['41111111'], ssn: ['123456789'] }
  for (const [format, texts] of Object.entries(good))
    for (const text of texts) t.ok(matchesFormat(format, text), `${format}: ${text}`)
  for (const [format, texts] of Object.entries(bad))
    for (const text of texts) t.notOk(matchesFormat(format, text), `${format}: ${text}`)
})

t.test('lists of type map end at what is no object', async (t) => {
  const list: JSONSchemaProps = {
    type: 'array',
    items: { type: 'object', properties: { k: { type: 'string' } } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  }
  const schema = { type: 'object', properties: { f: list } }
  const words = 'must be an object for an array of list-type map'
  t.same(said(validateListTypes({ f: [{ k: 'a' }, 1, { k: 'a' }] }, schema, work())), [
    `f[1]: Invalid value: 1: ${words}`,
  ])
  t.same(said(validateListTypes({ f: [null, { k: 'a' }] }, schema, work())), [])
})

t.test('embedded resources have metadata as any object; a name may be missing', async (t) => {
  const f: JSONSchemaProps = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  }
  const fields = (metadata: Record<string, unknown>): string[] =>
    validateEmbedded({ f: { apiVersion: 'v1', kind: 'Pod', metadata } }, { type: 'object', properties: { f } }).map(
      ({ field }) => field,
    )
  t.same(fields({ labels: { a: 'b' }, finalizers: ['x'] }), [])
  t.same(fields({ labels: { 'a b': 'c' } }), ['f.metadata.labels'])
  t.same(fields({ namespace: 'A b', name: 'a/b' }), ['f.metadata.namespace', 'f.metadata.name'])
  t.same(fields({ generation: -1 }), ['f.metadata.generation'])
})

t.test('names of a definition', async (t) => {
  const names = { plural: 'xs', singular: 'x', kind: 'X', listKind: 'XList', categories: ['all', ''], shortNames: [''] }
  const fields = validateNames(names, 'n').map(({ field }) => field)
  t.same(fields, ['n.shortNames[0]', 'n.categories[1]'])
  t.same(requireNames(names, 'n'), [])
})
