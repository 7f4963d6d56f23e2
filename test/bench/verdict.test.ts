/** bench/compare/verdict.ts: what the rounds of `npm run bench -- --against COMMIT` say. */
import t from 'tap'
import { type Round, verdictOf, verdictTable } from '../../bench/compare/verdict.ts'
import { randomFrom } from '../faults/random.ts'

/** Rounds on a machine whose speed changes by half, and that treats the two sides differently by up to a tenth. */
function rounds(count: number, slowDown: number, seed: number): Round[] {
  const random = randomFrom(seed)
  return Array.from({ length: count }, () => {
    const then = 400 * (1 + random() / 2)
    return { then, now: then * slowDown * (1 + (random() - 0.5) / 5) }
  })
}

t.test('a slow-down of 10 % is found each of twenty times', async (t) => {
  for (let seed = 1; seed <= 20; seed++) t.equal(verdictOf('create', 'µs', rounds(80, 1.1, seed)).word, 'slower')
})

t.test('no slow-down passes twenty times, and neither does a gain fail', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    for (const change of [1, 0.9]) t.equal(verdictOf('create', 'µs', rounds(80, change, seed)).word, 'as fast')
  }
})

t.test('rounds that differ too much, or are too few, are unclear', async (t) => {
  const wild = Array.from({ length: 20 }, (_, i) => ({ then: 100, now: i % 2 ? 80 : 130 }))
  t.equal(verdictOf('get', 'µs', wild).word, 'unclear')
  t.equal(
    verdictOf('start', 'ms', [
      { then: 100, now: 90 },
      { then: 100, now: 120 },
    ]).word,
    'unclear',
  )
})

t.test('the table has a line for each figure, with its spread', async (t) => {
  const slower = verdictOf(
    'create',
    'µs',
    Array.from({ length: 9 }, (_, i) => ({ then: 500, now: 545 + i })),
  )
  const faster = verdictOf(
    'get',
    'µs',
    Array.from({ length: 9 }, () => ({ then: 100, now: 98 })),
  )
  t.match(verdictTable([slower, faster]).split('\n').slice(2), [
    '| create   | µs   | 500  | 549  | +9.8 %     | +9.0 % and +10.6 % | slower  |',
    '| get      | µs   | 100  | 98.0 | −2.0 %     | −2.0 % and −2.0 %  | as fast |',
  ])
})
