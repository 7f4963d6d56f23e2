import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { deepEqual } from '../../../apiserver/values/deep-equal.ts'
import { equals } from '../../../apiserver/values/json-map.ts'

const inherited = JSON.parse('{"__proto__": 1}')

const cases: [what: string, a: unknown, b: unknown, same: boolean][] = [
  ['keys in another order', { a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }, true],
  ['items in another order', [1, 2], [2, 1], false],
  ['a list and a map', [], {}, false],
  ['null and a map', null, {}, false],
  ['a number and a BigInt', 1, 1n, false],
  ['equal BigInts', { a: 2n ** 60n }, { a: 2n ** 60n }, true],
  ['another key', { a: 1 }, { b: 1 }, false],
  ['a key that a prototype has', { constructor: 1 }, {}, false],
  ['the key __proto__', inherited, { a: 1 }, false],
]

for (const [what, a, b, same] of cases)
  t.test(`${what}: all equalities agree`, async (t) => {
    for (const [left, right] of [
      [a, b],
      [b, a],
    ])
      t.same([deepEqual(left, right), equals(left, right), isDeepStrictEqual(left, right)], [same, same, same])
  })

t.test('a key that is undefined is absent to deepEqual, and to it alone', async (t) => {
  const [a, b] = [{ a: { b: undefined } }, { a: {} }]
  t.same([deepEqual(a, b), equals(a, b), isDeepStrictEqual(a, b)], [true, false, false])
})
