/** bench/compare: what the rounds of `npm run bench -- --against COMMIT` say, and which commit CI takes. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { daysBefore } from '../../bench/compare/day-before.ts'
import { type Round, type Verdict, verdictOf, verdictTable } from '../../bench/compare/verdict.ts'
import { randomFrom } from '../faults/random.ts'

/** Rounds on a machine whose speed changes by half, and that treats the two sides differently by up to a tenth. */
function rounds(count: number, slowDown: number, seed: number): Round[] {
  const random = randomFrom(seed)
  return Array.from({ length: count }, () => {
    const then = 400 * (1 + random() / 2)
    return { then, now: then * slowDown * (1 + (random() - 0.5) / 5) }
  })
}

const verdict = (rounds: Round[], limit?: number): Verdict =>
  verdictOf({ what: 'create', unit: 'µs', pairs: [rounds], limit })

t.test('a slow-down of 10 % is found each of twenty times', async (t) => {
  for (let seed = 1; seed <= 20; seed++) t.equal(verdict(rounds(80, 1.1, seed)).word, 'slower')
})

t.test('no slow-down passes twenty times, and neither does a gain fail', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    for (const change of [1, 0.9]) t.equal(verdict(rounds(80, change, seed)).word, 'as fast')
  }
})

t.test('a limit of 8 % lets 6 % pass', async (t) => {
  t.equal(verdict(rounds(80, 1.06, 1), 1.08).word, 'unclear')
  t.equal(verdict(rounds(80, 1.1, 1), 1.08).word, 'slower')
})

t.test('rounds that differ too much, or are too few, are unclear', async (t) => {
  t.equal(verdict(Array.from({ length: 20 }, (_, i) => ({ then: 100, now: i % 2 ? 80 : 130 }))).word, 'unclear')
  const few = [90, 120].map((now) => ({ then: 100, now }))
  t.equal(verdict(few).word, 'unclear')
})

t.test('so is what only some pairs of servers show', async (t) => {
  const pairs = [rounds(8, 1.2, 1), rounds(8, 1.2, 2), rounds(8, 0.9, 3)]
  t.equal(verdictOf({ what: 'get', unit: 'µs', pairs }).word, 'unclear')
})

t.test('one of six pairs may be an exception', async (t) => {
  const slow = Array.from({ length: 5 }, (_, i) => rounds(8, 1.1, i))
  t.equal(verdictOf({ what: 'get', unit: 'µs', pairs: [rounds(8, 0.6, 9), ...slow] }).word, 'slower')
  const others = [0.9, 0.95, 1.2, 1.2, 1.2, 1.2].map((change, i) => rounds(8, change, i))
  t.not(verdictOf({ what: 'get', unit: 'µs', pairs: others }).word, 'slower')
})

t.test('the table has a line for each figure, with its spread', async (t) => {
  const slower = verdict(Array.from({ length: 9 }, (_, i) => ({ then: 500, now: 545 + i })))
  const pairs = [Array.from({ length: 9 }, () => ({ then: 100, now: 98 }))]
  const faster = verdictOf({ what: 'get', unit: 'µs', pairs })
  t.match(verdictTable([slower, faster]).split('\n').slice(2), [
    '| create   | µs   | 500  | 549  | +9.8 %     | +9.0 % and +10.6 % | slower  |',
    '| get      | µs   | 100  | 98.0 | −2.0 %     | −2.0 % and −2.0 %  | as fast |',
  ])
})

t.test('the commits of the day before are those that are a day older than the last, the newest first', async (t) => {
  const all = t.testdir({ origin: {} })
  const [folder, shallow] = [join(all, 'origin'), join(all, 'clone')]
  const git = (args: string[], at = ''): string =>
    execFileSync('git', args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, GIT_COMMITTER_DATE: at, GIT_CONFIG_GLOBAL: '/dev/null' },
    }).trim()
  const commit = (at: string): string => {
    const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
    git([...author, 'commit', '--quiet', '--allow-empty', '--message=x'], at)
    return git(['rev-parse', 'HEAD'])
  }
  git(['init', '--quiet'])
  t.match(daysBefore(folder), { why: /^git shows no history: / })
  const first = commit('2026-03-01T12:00:00Z')
  t.match(daysBefore(folder), { why: /a day older than the last one: all commits are newer$/ })
  const second = commit('2026-03-03T12:00:00Z')
  commit('2026-03-03T13:00:00Z')
  commit('2026-03-04T12:30:00Z')
  t.same(daysBefore(folder), { commits: [second, first] })
  execFileSync('git', ['clone', '--quiet', '--depth=1', `file://${folder}`, shallow], { stdio: 'ignore' })
  t.match(daysBefore(shallow), { why: /shallow; git fetch --unshallow/ })
})
