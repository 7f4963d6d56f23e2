/** What Services lost at pods, by the counters of their rules. */
import t from 'tap'
import { countsOf, LossCounter, relayedCounts } from '../../../kubelet/services/lost-requests.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'

const element = (val: string, packets: number) => ({ elem: { val, counter: { packets, bytes: 60 * packets } } })
const listed = (refused: number): string =>
  JSON.stringify({
    nftables: [
      { metainfo: { version: '1.0.6' } },
      { set: { name: 'lost-refused', elem: [element('10.244.0.5', refused), element('10.244.0.6', 1)] } },
      { set: { name: 'lost-unreachable' } },
      { set: { name: 'ips', elem: ['10.96.0.7'] } },
    ],
  })

t.test('counters are read by kind and address', async (t) => {
  t.same(
    [...countsOf(listed(3))],
    [
      ['refused 10.244.0.5', 3],
      ['refused 10.244.0.6', 1],
    ],
  )
  t.same([...countsOf('{"nftables": []}')], [])
  t.equal(relayedCounts('refused 10.244.0.5 3\nreset 10.244.0.6 1\n').get('reset 10.244.0.6'), 1)
})

t.test('a pod is told what was lost since the last one with its address', async (t) => {
  const clock = createVirtualClock()
  let packets = 3
  let isLed = true
  const warnings: string[] = []
  const counts = async () => {
    if (packets < 0) throw new Error('no nft')
    return countsOf(listed(packets))
  }
  const warn = (_: unknown, what: string) => warnings.push(what)
  const counter = new LossCounter({ counts, clock, isLed: () => isLed, warn })
  const first = counter.of('10.244.0.5')
  await clock.advance(60_000)
  packets = 5
  isLed = false
  await clock.advance(60_000)
  t.same(await first, [{ kind: 'refused', count: 5 }], 'those are counted that came while rules led there')
  const lostOf = async (ip: string) => {
    const lost = counter.of(ip)
    await clock.advance(60_000)
    return lost
  }
  packets = 7
  t.same(await lostOf('10.244.0.5'), [{ kind: 'refused', count: 2 }])
  t.same(await lostOf('10.244.0.9'), [])
  packets = 1
  t.same(await lostOf('10.244.0.5'), [{ kind: 'refused', count: 1 }], 'a new network counts from 0')
  packets = -1
  t.same(await lostOf('10.244.0.5'), [])
  t.same(warnings, ['lost requests could not be counted'])
})
