import { pino } from 'pino'
import t from 'tap'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { ReachedLimits } from '../../shared/limits/reached-limits.ts'

const table = {
  maxThings: { what: 'things of all clients', beyond: 'the oldest goes' },
  idleTimeout: { what: 'time without a thing', beyond: 'it ends', isOrdinary: true },
}

function setUp() {
  const lines: Record<string, unknown>[] = []
  const clock = createVirtualClock()
  const log = pino({ level: 'info', base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) })
  const limits = new ReachedLimits<keyof typeof table>(table, { clock, log })
  const add = (key: string, name: keyof typeof table = 'maxThings'): void => limits.add(name, { key, fields: { key } })
  return { lines, clock, limits, add }
}

t.test('one line of each client and limit in ten seconds, then how many were left out', async (t) => {
  const { lines, clock, limits, add } = setUp()
  for (let i = 0; i < 5; i++) add('a')
  add('b')
  add('a', 'idleTimeout')
  const msg = 'limit reached: things of all clients; the oldest goes'
  t.same(lines, [
    { level: 40, limit: 'max-things', key: 'a', msg },
    { level: 40, limit: 'max-things', key: 'b', msg },
    { level: 30, limit: 'idle-timeout', key: 'a', msg: 'limit reached: time without a thing; it ends' },
  ])
  await clock.advance(10_000)
  t.same(lines.slice(3), [{ level: 40, limit: 'max-things', key: 'a', times: 4, msg }])
  add('a')
  t.equal(lines.length, 5)
  const samples = [
    { labels: { limit: 'max-things' }, value: 7 },
    { labels: { limit: 'idle-timeout' }, value: 1 },
  ]
  t.match(limits.families(), [{ name: 'kubestage_limits_reached_total', samples }])
  limits.close()
})

t.test('clients without number have no lines without number', async (t) => {
  const { lines, clock, limits, add } = setUp()
  for (let i = 0; i < 100_000; i++) add(`client ${i}`)
  t.equal(lines.length, 1_000)
  await clock.advance(10_000)
  t.same(lines.slice(1_000), [{ level: 40, times: 99_000, msg: 'limits reached by further clients' }])
  t.match(limits.families(), [{ samples: [{ value: 100_000 }, { value: 0 }] }])
  limits.close()
})
