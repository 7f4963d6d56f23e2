import fc from 'fast-check'
import jsonpatch from 'fast-json-patch'
import t from 'tap'
import { applyJsonPatch, JsonPatchError, type JsonPatchOperation } from '../../apiserver/patch/json-patch.ts'
import { applyMergePatch } from '../../apiserver/patch/merge-patch.ts'

t.test('merge patch: the examples of RFC 7386', async (t) => {
  const cases: [target: unknown, patch: unknown, result: unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, result] of cases) {
    t.same(applyMergePatch(structuredClone(target), patch), result, JSON.stringify([target, patch]))
  }
})

const json = fc.jsonValue({ maxDepth: 3 })
const object = fc.dictionary(
  fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
  json,
)

t.test('merge patch: twice is once', async () => {
  fc.assert(
    fc.property(object, object, (target, patch) => {
      const once = applyMergePatch(structuredClone(target), patch)
      const twice = applyMergePatch(structuredClone(once), patch)
      return JSON.stringify(once) === JSON.stringify(twice)
    }),
  )
})

t.test('a patch cannot reach the prototype', async (t) => {
  const evil = JSON.parse('{"__proto__": {"polluted": true}}')
  const merged = applyMergePatch({}, evil) as Record<string, unknown>
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  t.ok(Object.hasOwn(merged, '__proto__'))
  const document = applyJsonPatch({ a: 1 }, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]) as object
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  t.ok(Object.hasOwn(document, '__proto__'))
  t.throws(() => applyJsonPatch({}, [{ op: 'add', path: '/constructor/prototype/polluted', value: true }]))
})

t.test('JSON patch: what another implementation makes of the difference of two documents, we do too', async () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const patch = jsonpatch.compare(before as object, after as object) as JsonPatchOperation[]
      const result = applyJsonPatch(structuredClone(before), patch)
      return jsonpatch.compare(result as object, after as object).length === 0
    }),
  )
})

t.test('JSON patch: each operation, and the leniency of a real server', async (t) => {
  const applied = (document: unknown, ...operations: JsonPatchOperation[]) =>
    applyJsonPatch(structuredClone(document), operations)
  t.same(applied({ a: [1, 2] }, { op: 'add', path: '/a/1', value: 9 }), { a: [1, 9, 2] })
  t.same(applied({ a: [1, 2] }, { op: 'add', path: '/a/-', value: 9 }), { a: [1, 2, 9] })
  t.same(applied({ a: [1, 2] }, { op: 'add', path: '/a/-1', value: 9 }), { a: [1, 2, 9] })
  t.same(applied({ a: [1, 2] }, { op: 'replace', path: '/a/01', value: 9 }), { a: [1, 9] })
  t.same(applied({ a: 1 }, { op: 'replace', path: '/b', value: 2 }), { a: 1, b: 2 })
  t.same(applied({ a: 1 }, { op: 'move', from: '/a', path: '/b' }), { b: 1 })
  t.same(applied({ a: { x: 1 } }, { op: 'copy', from: '/a', path: '/b' }), { a: { x: 1 }, b: { x: 1 } })
  t.same(applied({ 'a/b': 1, 'm~n': 2 }, { op: 'remove', path: '/a~1b' }, { op: 'remove', path: '/m~0n' }), {})
  t.same(applied({ a: 1 }, { op: 'replace', path: '', value: { b: 2 } }), { b: 2 })
  t.same(applied({ a: 1 }, { op: 'test', path: '/b', value: null }), { a: 1 })
  t.same(applied({}, { op: 'add', path: 'ignored/b', value: 1 }), { b: 1 })
  const refused: JsonPatchOperation[] = [
    { op: 'remove', path: '/none' },
    { op: 'add', path: '/none/b', value: 1 },
    { op: 'add', path: '/a/3', value: 1 },
    { op: 'remove', path: '/a/-' },
    { op: 'test', path: '/a', value: [1] },
    { op: 'move', path: '/b' },
    { op: 'increment', path: '/a' },
    { op: 'add', value: 1 },
    { op: 'copy', from: null, path: '/b' },
    { op: 'add', path: null, value: 1 },
    { op: null, path: '/a' },
  ]
  for (const operation of refused) {
    const refusal = t.throws(() => applied({ a: [1, 2] }, operation), { message: /\w/ })
    t.ok(refusal instanceof JsonPatchError, JSON.stringify(operation))
  }
})
