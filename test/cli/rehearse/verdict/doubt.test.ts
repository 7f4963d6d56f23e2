/** What faster time leaves open of a death, and so is tried again in real time. */
import t from 'tap'
import type { Fault, Finding, Rehearsal } from '../../../../cli/rehearse/report.ts'
import { doubtsOf, withoutDoubtfulNotes } from '../../../../cli/rehearse/verdict/doubt.ts'
import { ways } from '../../../../cli/rehearse/ways.ts'
import type { Workload } from '../../../../cli/rehearse/workload.ts'
import type { Container, PodSpec } from '../../../../shared/api/types.ts'

const thresholds = { maxGraceUsed: 80, maxLivenessDowntime: 60_000, maxLostRequests: 0, allowedExitCodes: [0] }
const fast = { scale: 20, thresholds, endpointDelayMs: 2_000 }

function workloadOf(...hooks: NonNullable<Container['lifecycle']>['preStop'][]): Workload {
  const containers = hooks.map((preStop, index) => ({ name: `c${index}`, image: 'busybox', lifecycle: { preStop } }))
  const spec = { containers, terminationGracePeriodSeconds: 10 } as PodSpec
  return { name: 'pod/web', namespace: 'default', template: { metadata: {}, spec } }
}
const sleep = (seconds: number) => ({ sleep: { seconds } })
const wayOf = (name: string) => ways.find((way) => way.name === name)!
const found = (fault: Fault, severity: Finding['severity'] = 'bad'): Finding => ({ fault, severity, says: fault })
const died = (findings: Finding[], more: Partial<Rehearsal> = {}): Rehearsal => ({
  way: 'delete',
  hook: 'none',
  usedSeconds: 1,
  graceSeconds: 10,
  exitCodes: [0],
  findings,
  ...more,
})
interface Case {
  way?: string
  workload?: Workload
  scale?: number
}
const doubts = (rehearsal: Rehearsal, { way = 'delete', workload = workloadOf(undefined), scale = 20 }: Case = {}) =>
  doubtsOf({ workload, way: wayOf(way) }, rehearsal, { ...fast, scale })

t.test('what was found by comparing times is in doubt where time is faster', (t) => {
  const late = died([found('goes-on-after-term'), found('exits-143')])
  t.same(doubts(late), ['goes-on-after-term'])
  t.same(doubts(late, { scale: 1 }), [], 'real time tells')
  t.same(doubts(died([found('slow-stop', 'note')])), [], 'notes are not worth a second death')
  t.same(doubts(died([found('exits-143'), found('leaves-children'), found('hook-fails')])), [])
  t.end()
})

t.test('a hook that only sleeps is no doubt', (t) => {
  const overrun = died([found('hook-overruns')])
  t.same(doubts(overrun, { workload: workloadOf(sleep(10)) }), [])
  t.same(doubts(overrun, { workload: workloadOf({ exec: { command: ['sh', '-c', 'sleep 600'] } }) }), [])
  t.same(doubts(overrun, { workload: workloadOf(sleep(5)) }), ['hook-overruns'])
  const most = died([found('hook-uses-most')])
  t.same(doubts(most, { workload: workloadOf(sleep(9)) }), [])
  t.same(doubts(most, { workload: workloadOf(sleep(8)) }), ['hook-uses-most'], 'that is what it may use')
  t.end()
})

t.test('requests that were not lost may be lost in real time, unless a hook sees to it', (t) => {
  const served = died([], { requests: { sent: 9, lost: 0, cut: 0, slowestSeconds: 1 } })
  t.same(doubts(served), ['cuts-requests', 'stops-too-soon'])
  t.same(doubts(served, { workload: workloadOf(sleep(2)) }), ['cuts-requests'], 'the last may take a second')
  t.same(doubts(served, { workload: workloadOf(sleep(3)) }), [])
  const beside = workloadOf(sleep(3), undefined)
  t.same(doubts(served, { workload: beside }), ['cuts-requests', 'stops-too-soon'], 'who of them serves?')
  t.same(doubts(served, { way: 'force' }), [], 'there it would be a note')
  t.same(doubts(served, { way: 'kubelet-restart' }), [])
  t.same(doubts({ ...served, findings: [found('no-term-handler')] }), [], 'it serves until it is killed')
  t.same(doubts(died([])), [], 'nobody asked')
  t.end()
})

t.test('how much grace is enough', (t) => {
  const killed = died([], { usedSeconds: 40.1, graceSeconds: 40 })
  t.same(doubts(killed, { way: 'patience' }), ['grace-too-short'], 'it may end by itself in real time')
  t.same(doubts(killed, { way: 'patience', workload: workloadOf(sleep(40)) }), [])
  const patient = died([found('grace-too-short')], { usedSeconds: 20, graceSeconds: 40 })
  t.same(doubts(patient, { way: 'patience' }), ['grace-too-short'])
  t.same(doubts(patient, { way: 'patience', workload: workloadOf(sleep(10)) }), [])
  t.end()
})

t.test('notes tell what is certain, or known from another way', (t) => {
  const death = { workload: workloadOf(sleep(5)), way: wayOf('force') }
  const rehearsal = died(
    [found('goes-on-after-term', 'note'), found('exits-143', 'note'), found('hook-overruns', 'note')],
    {
      graceSeconds: 1,
    },
  )
  const told = (known: Fault[], scale = 20) =>
    withoutDoubtfulNotes(death, rehearsal, { ...fast, scale, known }).map(({ fault }) => fault)
  t.same(told([]), ['exits-143', 'hook-overruns'])
  t.same(told(['goes-on-after-term']), ['goes-on-after-term', 'exits-143', 'hook-overruns'])
  t.same(told([], 1), ['goes-on-after-term', 'exits-143', 'hook-overruns'])
  t.end()
})
