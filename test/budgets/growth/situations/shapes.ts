/** Each shape that a list or map of a custom resource can have, and values of it. */
import { times } from '../../times.ts'
import { map } from './writing.ts'

export const string = { type: 'string' }
const item = (more: object = {}, name: object = string): object => ({
  type: 'object',
  required: ['name'],
  properties: {
    name,
    value: { 'x-kubernetes-int-or-string': true },
    defaulted: { type: 'string', default: 'd' },
  },
  ...more,
})
const listMap = (items: object): object => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
})
const ruled = { 'x-kubernetes-validations': [{ rule: "self.name != 'x'" }] }
const transition = { 'x-kubernetes-validations': [{ rule: 'self.name == oldSelf.name' }] }

/** Properties of a custom resource: each shape that a list or map can have. */
export const shapes: Record<string, object> = {
  keyed: listMap(item()),
  ruled: listMap(item(ruled)),
  // A definition is refused for what this rule would cost for longer names.
  kept: listMap(item(transition, { ...string, maxLength: 20 })),
  set: { type: 'array', items: string, 'x-kubernetes-list-type': 'set' },
  numbers: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
  atomic: { type: 'array', items: item(), 'x-kubernetes-list-type': 'atomic' },
  nested: { type: 'array', items: { type: 'object', properties: { inner: listMap(item()) } } },
  texts: { type: 'object', additionalProperties: string },
  objects: { type: 'object', additionalProperties: item(ruled) },
  atoms: { type: 'object', additionalProperties: string, 'x-kubernetes-map-type': 'atomic' },
  anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  either: { type: 'array', items: { 'x-kubernetes-int-or-string': true } },
  chosen: {
    type: 'array',
    items: { type: 'object', properties: { a: string, b: string }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  },
}
export const items = (size: number): object[] => times(size, (i) => ({ name: `n${i}`, value: i }))
/** Values that the shapes take, and others that they refuse entry by entry. */
export const values: Record<keyof typeof shapes, (size: number) => unknown> = {
  keyed: items,
  ruled: items,
  kept: items,
  set: (size) => times(size, (i) => `s${i}`),
  numbers: (size) => times(size, (i) => i),
  atomic: items,
  nested: (size) => [{ inner: items(size) }],
  texts: (size) => map(size),
  objects: (size) => map(size, { name: 'n' }),
  atoms: (size) => map(size),
  anything: (size) => map(size, { a: [1] }),
  either: (size) => times(size, (i) => (i % 2 ? i : `s${i}`)),
  chosen: (size) => times(size, (i) => ({ [i % 2 ? 'a' : 'b']: 'v' })),
}
export const wrong: Partial<Record<keyof typeof shapes, (size: number) => unknown>> = {
  keyed: (size) => times(size, () => ({ name: 'n' })),
  ruled: (size) => times(size, (i) => ({ name: i % 2 ? 'x' : 'n' })),
  set: (size) => times(size, (i) => i),
  numbers: (size) => times(size, () => 1),
  texts: (size) => map(size, 1),
  objects: (size) => map(size, { name: 1 }),
  chosen: (size) => times(size, () => ({})),
}
