import t from 'tap'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import { KeyedTurns } from '../../shared/concurrency/keyed-turns.ts'
import { Turns } from '../../shared/concurrency/turns.ts'
import { Undo } from '../../shared/concurrency/undo.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'

const ms = 1

t.test('a back-off doubles to its limit, starts again, and spreads by chance', async (t) => {
  const plain = createBackoff({ initialMs: 100, maxMs: 500 })
  t.same([plain.next(), plain.next(), plain.next(), plain.next(), plain.next()], [100, 200, 400, 500, 500])
  plain.reset()
  t.equal(plain.next(), 100)
  const spread = createBackoff({ initialMs: 100, maxMs: 500, jitter: 1, random: () => 0.5 })
  t.same([spread.next(), spread.next()], [150, 300])
})

t.test('a key waits once, runs alone, and runs again when it was added meanwhile', async (t) => {
  const clock = createVirtualClock()
  const log: string[] = []
  const queue = new WorkQueue<string>({
    clock,
    concurrency: 2,
    onError: () => t.fail('nothing fails here'),
    async work(key) {
      log.push(`${key} begins`)
      await clock.sleep(10 * ms)
      log.push(`${key} ends`)
    },
  })
  for (const key of ['a', 'b', 'a', 'c']) queue.add(key)
  await clock.advance(5 * ms)
  queue.add('a')
  queue.add('a')
  await clock.advance(30 * ms)
  t.same(log, ['a begins', 'b begins', 'a ends', 'c begins', 'b ends', 'a begins', 'c ends', 'a ends'])
})

t.test('work that fails comes back later and later; success forgets', async (t) => {
  const clock = createVirtualClock()
  const attempts: number[] = []
  const failures: unknown[] = []
  const queue = new WorkQueue<string>({
    clock,
    retry: { initialMs: 10, maxMs: 40 },
    onError: (error) => failures.push(error),
    async work() {
      attempts.push(clock.monotonic())
      if (attempts.length !== 6) throw new Error('no')
    },
  })
  queue.add('a')
  await clock.advance(1000)
  t.same(attempts, [0, 10, 30, 70, 110, 150])
  t.equal(failures.length, 5)
  queue.add('a')
  await clock.advance(15)
  t.same(attempts.slice(6), [1000, 1010])
})

t.test('of several delays the earliest wins; closing waits for what runs and lets nothing begin', async (t) => {
  const clock = createVirtualClock()
  const log: string[] = []
  const queue = new WorkQueue<string>({
    clock,
    onError: () => {},
    async work(key) {
      log.push(`${key} ${clock.monotonic()}`)
      await clock.sleep(50)
      log.push(`${key} ends`)
    },
  })
  queue.addAfter('a', 30)
  queue.addAfter('a', 10)
  queue.addAfter('a', 20)
  await clock.advance(15)
  t.same(log, ['a 10'])
  queue.add('b')
  queue.addAfter('c', 5)
  let closed = false
  void queue.close().then(() => (closed = true))
  await clock.advance(10)
  t.equal(closed, false)
  await clock.advance(100)
  t.equal(closed, true)
  queue.add('d')
  await clock.advance(100)
  t.same(log, ['a 10', 'a ends'])
})

t.test('turns come in the order in which they were asked for, each key by itself', async (t) => {
  const turns = new KeyedTurns()
  const log: string[] = []
  const take = async (key: string, name: string): Promise<Disposable> => {
    const turn = await turns.take(key)
    log.push(name)
    return turn
  }
  const first = await take('a', 'first')
  const [second, third] = [take('a', 'second'), take('a', 'third')]
  const other = await take('b', 'other')
  t.same(log, ['first', 'other'])
  first[Symbol.dispose]()
  ;(await second)[Symbol.dispose]()
  ;(await third)[Symbol.dispose]()
  other[Symbol.dispose]()
  t.same(log, ['first', 'other', 'second', 'third'])
})

t.test('who leaves before the turn holds up nobody', async (t) => {
  const turns = new KeyedTurns()
  const first = await turns.take('a')
  const leaving = new AbortController()
  const second = turns.take('a', leaving.signal)
  const third = turns.take('a', new AbortController().signal)
  leaving.abort(new Error('no time left'))
  await t.rejects(second, /no time left/)
  first[Symbol.dispose]()
  ;(await third)[Symbol.dispose]()
  t.notOk(turns.isTaken('a'))
})

t.test('what is to be undone is undone once, the last first, whatever fails on the way', async (t) => {
  const undone: string[] = []
  const fail = (): never => {
    throw new Error('b is stuck')
  }
  const undo = new Undo()
  undo.defer(() => void undone.push('a'))
  undo.defer(fail)
  undo.defer(async () => void undone.push('c'))
  await t.rejects(undo.run(), /b is stuck/)
  t.same(undone, ['c', 'a'])
  await undo.run()
  t.same(undone, ['c', 'a'])
})

t.test('what was moved is not undone where it began', async (t) => {
  const undone: string[] = []
  const begin = async (): Promise<Undo> => {
    await using undo = new Undo()
    undo.defer(() => void undone.push('moved'))
    return undo.move()
  }
  const moved = await begin()
  t.same(undone, [])
  await moved.run()
  t.same(undone, ['moved'])
  const fails = async (): Promise<void> => {
    await using undo = new Undo()
    undo.defer(() => void undone.push('left'))
    throw new Error('nothing came of it')
  }
  await t.rejects(fails(), /nothing came of it/)
  t.same(undone, ['moved', 'left'])
})

t.test('a few at the same time; callers wait in order, and a turn without a waiter is kept', async (t) => {
  const turns = new Turns(2)
  t.same([turns.take(), turns.take()], [undefined, undefined])
  const log: string[] = []
  for (const name of ['a', 'b']) void turns.take()?.then(() => log.push(name))
  t.equal(turns.waiting, 2)
  turns.give()
  await Promise.resolve()
  t.same(log, ['a'])
  turns.give()
  turns.give()
  await Promise.resolve()
  t.same(log, ['a', 'b'])
  t.equal(turns.waiting, 0)
  t.equal(turns.take(), undefined)
  t.ok(turns.take())
})
