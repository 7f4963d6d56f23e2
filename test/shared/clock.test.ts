import t from 'tap'
import type { Clock } from '../../shared/clock/clock.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createScaledClock, scaledClock } from '../../shared/clock/scaled-clock.ts'
import { httpDate, toTime } from '../../shared/clock/timestamp.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

/** What every clock promises; `run` lets the given time pass. */
function clockSuite(name: string, make: () => { clock: Clock; run(durationMs: number): Promise<void> }): void {
  t.test(name, async (t) => {
    t.test('timers fire once, in order of their deadlines, never early', async (t) => {
      const { clock, run } = make()
      const fired: { name: string; atMs: number }[] = []
      const deadlines: Record<string, { from: number; to: number }> = {}
      // A busy machine may stop this test between two lines, so a deadline is known as an interval.
      const timer = (name: string, delayMs: number) => {
        const from = clock.monotonic() + delayMs
        const started = clock.setTimer(delayMs, () => fired.push({ name, atMs: clock.monotonic() }))
        deadlines[name] = { from, to: clock.monotonic() + delayMs }
        return started
      }
      timer('late', 40.4)
      timer('early', 20)
      timer('now', 0)
      timer('cancelled', 25).cancel()
      await run(80)
      t.same(fired.map(({ name }) => name).sort(), ['early', 'late', 'now'])
      for (const [index, { name, atMs }] of fired.entries()) {
        t.ok(atMs >= deadlines[name]!.from, `${name} is not early`)
        for (const after of fired.slice(index + 1)) {
          const sooner = deadlines[after.name]!.to + 2 * clock.scale < deadlines[name]!.from
          t.notOk(sooner, `${name} fires before ${after.name}`)
        }
      }
    })
    t.test('cancel is idempotent and harmless afterwards', async (t) => {
      const { clock, run } = make()
      let count = 0
      const timer = clock.setTimer(1, () => count++)
      await run(20)
      timer.cancel()
      timer.cancel()
      t.equal(count, 1)
    })
    t.test('sleep resolves, or rejects with the reason of the signal', async (t) => {
      const { clock, run } = make()
      const controller = new AbortController()
      const slept = clock.sleep(5)
      const aborted = t.rejects(clock.sleep(1_000_000, { signal: controller.signal }), { message: 'enough' })
      controller.abort(new Error('enough'))
      await run(20)
      await slept
      await aborted
      await t.rejects(clock.sleep(1, { signal: controller.signal }), { message: 'enough' })
    })
    t.test('now and monotonic go on together', async (t) => {
      const { clock, run } = make()
      const [now, monotonic] = [clock.now(), clock.monotonic()]
      await run(30)
      t.ok(clock.now() - now >= 29)
      t.ok(clock.monotonic() - monotonic >= 29)
    })
  })
}

clockSuite('real clock', () => ({ clock: realClock, run: (durationMs) => realClock.sleep(durationMs) }))
clockSuite('scaled clock', () => {
  const clock = createScaledClock(realClock, { scale: 2, originMs: realClock.now() })
  return { clock, run: (durationMs) => clock.sleep(durationMs) }
})
clockSuite('virtual clock', () => {
  const clock = createVirtualClock()
  return { clock, run: (durationMs) => clock.advance(durationMs) }
})

clockSuite('movable clock, by itself', () => {
  const clock = createMovableClock(realClock)
  return { clock, run: (durationMs) => clock.sleep(durationMs) }
})
clockSuite('movable clock, moved', () => {
  const clock = createMovableClock(realClock, 600_000)
  return { clock, run: (durationMs) => clock.advance(durationMs) }
})

t.test('a clock that goes on by itself and is moved', async (t) => {
  const machine = createVirtualClock(1_000_000)
  const clock = createMovableClock(createScaledClock(machine, { scale: 10, originMs: 1_000_000 }), 500)
  t.equal(clock.now(), 1_000_500, 'moved before')
  const fired: string[] = []
  const timer = (name: string, delayMs: number) =>
    clock.setTimer(delayMs, () => fired.push(`${name} ${clock.now() - 1_000_500}`))
  timer('late', 90_000)
  timer('soon', 20_000)
  timer('middle', 50_000)
  const work = clock.sleep(10_000).then(() => timer('next', 15_000))
  await machine.advance(1_000)
  t.same(fired, [], 'ten seconds have passed by themselves')
  const moving = clock.advance(30_000)
  await machine.advance(0)
  await moving
  await work
  t.same(fired, ['soon 20000', 'next 25000'], 'all that was due on the way, in order, each at its time')
  t.equal(clock.movedMs, 30_500)
  t.equal(clock.now(), 1_040_500)
  t.equal(clock.machine.now(), 1_001_000)
  t.equal(clock.at(1_000_500), 1_005_500, 'what was before the move is not moved with it')
  t.equal(clock.at(1_001_000), 1_040_500)
  t.equal((clock.nextDeadline() ?? 0) - clock.monotonic(), 10_000)
  await machine.advance(1_000)
  t.same(fired.slice(2), ['middle 50000'], 'and then by itself')
  await machine.advance(4_000)
  t.same(fired.slice(3), ['late 90000'])
  t.equal(clock.nextDeadline(), undefined)
})

t.test('a virtual clock lets what a timer started set the next one', async (t) => {
  const clock = createVirtualClock(0)
  const log: number[] = []
  const work = (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(1000)
      log.push(clock.now())
    }
  })()
  await clock.advance(2500)
  t.same(log, [1000, 2000])
  await clock.advanceUntil(() => log.length === 3)
  t.equal(clock.now(), 3000)
  await work
  await t.rejects(
    clock.advanceUntil(() => false),
    /did not come true/,
  )
})

t.test('a scaled clock waits a fraction of the time, and shows all of it', async (t) => {
  const machine = createVirtualClock(1_000_000)
  const clock = createScaledClock(machine, { scale: 60, originMs: 1_000_000 })
  let rung = false
  clock.setTimer(30_000, () => (rung = true))
  await machine.advance(499)
  t.notOk(rung)
  await machine.advance(1)
  t.ok(rung, 'thirty seconds are half a second')
  t.equal(clock.now(), 1_030_000)
  t.equal(clock.machine.now(), 1_000_500)
  t.equal(clock.at(1_000_250), 1_015_000, 'the time of a file')
  const joined = createScaledClock(machine, { scale: 60, originMs: 1_000_000 })
  t.equal(joined.now(), clock.now(), 'who comes later shows the same time')
  t.equal(scaledClock(machine, { scale: 1, originMs: 0 }), machine, 'nothing to scale')
})

t.test('a wait that is longer than the machine can count', async (t) => {
  let rung = false
  const timer = realClock.setTimer(Number.MAX_SAFE_INTEGER * 1000, () => (rung = true))
  await realClock.sleep(1) // Node would ring after 1 ms, and so before this.
  timer.cancel()
  t.notOk(rung)
})

t.test('the texts of a time are those of a Date', (t) => {
  const dayMs = 86_400_000
  const ends = [-1, 0, Date.UTC(10_000) - 1, Date.UTC(10_000)]
  const days = Array.from({ length: 150 * 366 }, (_, day) => day * dayMs - (day % 3))
  for (const ms of [...ends, ...days]) {
    const date = new Date(ms)
    if (toTime(ms) !== `${date.toISOString().slice(0, 19)}Z`) t.fail(`${ms}: ${toTime(ms)}`)
    if (httpDate(ms) !== date.toUTCString()) t.fail(`${ms}: ${httpDate(ms)}`)
  }
  t.end()
})
