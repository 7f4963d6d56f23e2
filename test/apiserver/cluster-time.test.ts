import t from 'tap'
import { ClusterTime } from '../../apiserver/instruments/cluster-time.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

t.test(
  'who gives up a long way on the way leaves time where it has come to, and the next is not held up',
  async (t) => {
    const clock = createMovableClock(createVirtualClock())
    const heard: number[] = []
    const leaving = new AbortController()
    const time = new ClusterTime({
      clock,
      revision: () => 0,
      nodes: () => [{ name: 'node-1', address: '' }],
      async tell(_node, { movedMs }) {
        if (movedMs !== heard.at(-1)) heard.push(movedMs)
        if (movedMs === 3_000) leaving.abort()
        return 1_000
      },
      onError: t.error,
    })
    const first = time.advance(3_600_000, leaving.signal)
    const never = time.advance(3_600_000, leaving.signal)
    const last = time.advance(2_000)
    await first
    t.equal(time.movedMs, 3_000)
    await never
    t.equal(time.movedMs, 3_000, 'one that was given up before its turn has none')
    await last
    t.same(heard, [0, 1_000, 2_000, 3_000, 4_000, 5_000])
  },
)
