import t from 'tap'
import type { ContainerKill } from '../../kubelet/ending/kill.ts'
import { causeOf } from '../../kubelet/ending/record/cause.ts'
import { type KillFacts, verdict } from '../../kubelet/ending/record/verdict.ts'
import { SHUTDOWN_MESSAGE } from '../../kubelet/node/shutdown.ts'
import type { PodStatus } from '../../shared/api/types.ts'

const TERM = { name: 'SIGTERM', afterMs: 0 }
const KILL = { name: 'SIGKILL', afterMs: 30_000 }
const caught = { ...TERM, reception: { disposition: 'caught', isInit: true } } as const
const ignored = { ...TERM, reception: { disposition: 'ignored', isInit: false } } as const
const noHandler = { ...TERM, reception: { disposition: 'default', isInit: true } } as const

t.test('a verdict in words', (t) => {
  const facts: [said: string, Partial<KillFacts>][] = [
    ['stopped in 0.4 s of 30 s', { signals: [caught], exitCode: 0 }],
    ['stopped in 0.4 s of 30 s', { signals: [TERM], exitCode: 143 }],
    [
      'stopped in 0.4 s of 30 s; would ignore TERM as PID 1',
      {
        signals: [{ ...TERM, reception: { disposition: 'default', isInit: false, wouldIgnore: true } }],
        exitCode: 143,
      },
    ],
    ['stopped in 0.4 s of 30 s, with exit code 3', { signals: [caught], exitCode: 3 }],
    ['stopped in 0.4 s of 30 s; its preStop hook failed', { hook: 'Failed', signals: [caught], exitCode: 0 }],
    [
      'ignored TERM: PID 1 has no handler, killed at the deadline',
      { usedMs: 30_000, signals: [noHandler, KILL], exitCode: 137 },
    ],
    ['ignored TERM, killed at the deadline', { usedMs: 30_000, signals: [ignored, KILL], exitCode: 137 }],
    ['caught TERM but went on, killed at the deadline', { usedMs: 30_000, signals: [caught, KILL], exitCode: 137 }],
    ['did not end after TERM, killed at the deadline', { usedMs: 30_000, signals: [TERM, KILL], exitCode: 137 }],
    [
      'did not end after QUIT, killed at the deadline',
      { usedMs: 30_000, signals: [{ name: 'SIGQUIT', afterMs: 0 }, KILL], exitCode: 137 },
    ],
    ['killed at the deadline', { usedMs: 30_000, signals: [KILL], exitCode: 137 }],
    [
      'preStop used all the grace, stopped 0.2 s after TERM',
      { usedMs: 30_200, hook: 'TimedOut', signals: [{ ...caught, afterMs: 30_000 }], exitCode: 0 },
    ],
    [
      'preStop used all the grace, killed 2.0 s after TERM',
      {
        usedMs: 32_000,
        hook: 'TimedOut',
        signals: [
          { ...caught, afterMs: 30_000 },
          { ...KILL, afterMs: 32_000 },
        ],
        exitCode: 137,
      },
    ],
    ['ended during its preStop hook', { hook: 'Succeeded', signals: [], exitCode: 0 }],
    ['ended before it was asked to', { signals: [], exitCode: 0 }],
    ['ended by the kernel: its memory was used up', { signals: [TERM], exitCode: 137, ranOutOfMemory: true }],
  ]
  for (const [said, known] of facts)
    t.equal(verdict({ graceSeconds: 30, usedMs: 400, signals: [], ...known }).text, said, said)
  t.end()
})

t.test('what made the kubelet stop a pod', async (t) => {
  const stop = (change: Partial<ContainerKill> = {}): ContainerKill => ({
    pod: { metadata: { name: 'a' }, spec: { containers: [] } },
    record: {} as ContainerKill['record'],
    graceSeconds: 30,
    ends: 'pod',
    cause: 'Unknown',
    ...change,
  })
  const deleted = { metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' }, spec: { containers: [] } }
  const disrupted = (message: string): PodStatus => ({
    phase: 'Succeeded',
    conditions: [{ type: 'DisruptionTarget', status: 'True', message }],
  })
  const evicted = stop({ cause: 'Evicted', reason: 'Eviction' })
  const low = 'The node was low on resource: memory.'
  t.match(causeOf(stop({ cause: 'LivenessProbe', ends: 'container' }), undefined), { cause: 'LivenessProbe' })
  t.match(causeOf(stop({ pod: deleted, reason: 'Eviction' }), { phase: 'Succeeded' }), { cause: 'PodDeleted' })
  t.same(causeOf(evicted, { phase: 'Failed', reason: 'Evicted', message: low }), { cause: 'Evicted', message: low })
  t.same(causeOf(evicted, disrupted(low)), { cause: 'Evicted', message: low }, 'all of its containers ended with 0')
  t.match(causeOf(evicted, { phase: 'Succeeded' }), { cause: 'Evicted' }, 'without a condition: its own local storage')
  const shutDown = stop({ cause: 'NodeShutdown', reason: 'Eviction' })
  t.match(causeOf(shutDown, disrupted(SHUTDOWN_MESSAGE)), { cause: 'NodeShutdown', message: SHUTDOWN_MESSAGE })
  const terminated = { phase: 'Failed', reason: 'Terminated', message: SHUTDOWN_MESSAGE } as const
  t.match(causeOf(shutDown, terminated), { cause: 'NodeShutdown' })
  const preempted = stop({ cause: 'Preempted', reason: 'my own' })
  t.match(causeOf(preempted, { phase: 'Failed', reason: 'Preempting' }), { cause: 'Preempted' })
  t.match(causeOf({ ...preempted, pod: deleted }, { phase: 'Failed' }), { cause: 'PodDeleted' }, 'deleted already')
  t.match(causeOf(stop(), { phase: 'Failed', reason: 'DeadlineExceeded' }), { cause: 'DeadlineExceeded' })
  t.match(causeOf(stop(), { phase: 'Succeeded' }), { cause: 'PodStopped' })
  t.match(
    causeOf(stop({ cause: 'LivenessProbe' }), { phase: 'Failed' }),
    { cause: 'LivenessProbe' },
    'a lone container',
  )
  t.match(causeOf(stop(), { phase: 'Failed' }, true), { cause: 'PodDeleted' }, 'a static pod, whose manifest is gone')
})
