import t from 'tap'
import { withProgress } from '../../../cli/terminal/progress.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

function terminal(isTTY: boolean) {
  const written: string[] = []
  return {
    written,
    stream: { isTTY, write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream,
  }
}

t.test('what takes longer than a second says so on a terminal, and cleans up', async (t) => {
  const { written, stream } = terminal(true)
  const clock = createVirtualClock()
  const work = Promise.withResolvers<number>()
  const done = withProgress('Starting', work.promise, { stream, clock })
  await clock.advance(999)
  t.same(written, [])
  await clock.advance(1_001)
  work.resolve(7)
  t.equal(await done, 7)
  await clock.advance(5_000)
  t.same(written, ['\r\u001b[KStarting … 1 s', '\r\u001b[KStarting … 2 s', '\r\u001b[K'])
})

t.test('what is quick, what fails, and what no terminal shows', async (t) => {
  const quick = terminal(true)
  t.equal(await withProgress('Quick', Promise.resolve(1), { stream: quick.stream, clock: createVirtualClock() }), 1)
  t.same(quick.written, [])

  const failing = terminal(true)
  const clock = createVirtualClock()
  const work = Promise.withResolvers<never>()
  const failed = t.rejects(withProgress('Failing', work.promise, { stream: failing.stream, clock }), /on purpose/)
  await clock.advance(1_000)
  work.reject(new Error('on purpose'))
  await failed
  t.equal(failing.written.at(-1), '\r\u001b[K')

  const pipe = terminal(false)
  const slow = createVirtualClock()
  const late = Promise.withResolvers<number>()
  const waited = withProgress('Slow', late.promise, { stream: pipe.stream, clock: slow })
  await slow.advance(10_000)
  late.resolve(1)
  await waited
  t.same(pipe.written, [])
})
