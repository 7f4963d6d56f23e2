import t from 'tap'
import { createKillPodNow } from '../../kubelet/ending/kill-pod-now.ts'
import type { EventRecorder } from '../../kubelet/events/event-recorder.ts'
import type { Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

t.test('a pod that does not end in time', async (t) => {
  const clock = createVirtualClock()
  const told: string[] = []
  const events = { podEvent: (_pod: Pod, _name: unknown, ...words: string[]) => told.push(words.join(' ')) }
  const never = new Promise<void>(() => {})
  const kill = createKillPodNow({ clock, events: events as unknown as EventRecorder, kill: () => never })
  const pod = (terminationGracePeriodSeconds: number): Pod => ({
    metadata: { name: 'p' },
    spec: { containers: [], terminationGracePeriodSeconds },
  })
  const cases: [Pod, number | undefined, number, string][] = [
    [pod(30), undefined, 45_000, 'gives up after the grace and half of it'],
    [pod(30), 21, 31_000, 'an override takes the place of the grace'],
    [pod(1), undefined, 10_000, 'waits at least ten seconds'],
  ]
  for (const [subject, graceSeconds, givesUpAfterMs, name] of cases) {
    told.length = 0
    let ended: boolean | undefined
    void kill(subject, { graceSeconds }).then((outcome) => (ended = outcome))
    await clock.advance(givesUpAfterMs - 1)
    t.equal(ended, undefined, `still waits after ${givesUpAfterMs - 1} ms`)
    await clock.advance(1)
    t.equal(ended, false, name)
    const message = 'Container runtime did not kill the pod within specified grace period.'
    t.same(told, [`Warning ExceededGracePeriod ${message}`], 'the event ExceededGracePeriod is recorded')
  }
})

t.test('one that does', async (t) => {
  const clock = createVirtualClock()
  const events = { podEvent: () => t.fail('there is nothing to tell') } as unknown as EventRecorder
  const kill = createKillPodNow({ clock, events, kill: () => clock.sleep(5_000) })
  const ended = kill({ metadata: {}, spec: { containers: [], terminationGracePeriodSeconds: 30 } }, {})
  await clock.advance(60_000)
  t.equal(await ended, true)
})
