/** What a program does once after its start. */
import t from 'tap'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { settle } from '../../shared/memory/settle.ts'

t.test('memory of a start is given back once, in the first idle half second of the first ten', async (t) => {
  const collections = async (shares: number[]): Promise<{ after: number; all: number }> => {
    const clock = createVirtualClock()
    let all = 0
    const collect = async () => void all++
    settle(clock, { busyShare: () => shares.shift() ?? 0, collect })
    await clock.advance(1_000)
    const after = all
    await clock.advance(60_000)
    return { after, all }
  }
  t.same(await collections([0]), { after: 1, all: 1 })
  t.same(await collections([0.9, 0.3]), { after: 0, all: 1 }, 'a busy machine')
  t.same(await collections(Array(10).fill(0.9)), { after: 0, all: 0 }, 'a process with clients keeps its code')
})
