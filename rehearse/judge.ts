import { toMs } from '../library/duration.ts'
import type { TerminatedContainer, Termination } from '../shared/api/termination.ts'
import type { LoadResult } from './count-requests.ts'

/** What was seen of one death. */
export interface Facts {
  termination?: Termination
  /** Containers were killed on purpose: nothing is asked of them but to be gone. */
  forced?: boolean
  /** Of the machine: how long the container took that did not end in time, when it was given much more. */
  neededMs?: number
  requests?: LoadResult
  /** What did not happen at all. */
  failure?: string
}

export interface Verdict {
  good: boolean
  container?: string
  text: string
  /** The machine's own words. */
  detail?: string
  remedy?: string
}

/** Part of the grace that may be used. */
const highShare = 0.8

interface Rule {
  when(container: TerminatedContainer, facts: Facts): boolean
  verdict(container: TerminatedContainer, facts: Facts): Omit<Verdict, 'good' | 'container'>
}

const step = ({ steps }: TerminatedContainer, name: string) => steps.find((candidate) => candidate.name === name)
const hookOf = (container: TerminatedContainer) => step(container, 'PreStop')
const asked = ({ steps }: TerminatedContainer) => steps.find(({ name }) => name.startsWith('SIG') && name !== 'SIGKILL')
const killed = (container: TerminatedContainer): boolean => step(container, 'SIGKILL') !== undefined
const usedMs = ({ used }: TerminatedContainer): number => goMs(used)
const grace = ({ gracePeriodSeconds }: TerminatedContainer): string => `${gracePeriodSeconds} s`
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** The first that applies says it. */
const rules: readonly Rule[] = [
  {
    when: (container) => hookOf(container)?.outcome === 'TimedOut',
    verdict: (container) => ({
      text: `its preStop hook uses all of ${grace(container)}`,
      remedy: 'make the hook shorter, or terminationGracePeriodSeconds longer',
    }),
  },
  {
    when: (container) => hookOf(container)?.outcome === 'Failed',
    verdict: (container) => ({
      text: 'its preStop hook fails',
      detail: shortened(hookOf(container)?.message),
      remedy: 'run the hook by hand with kubectl exec; the container is stopped all the same',
    }),
  },
  {
    when: (container) => killed(container) && asked(container)?.outcome === 'Default',
    verdict: (container) => ({
      text: `ignores TERM: PID 1 has no handler; killed after ${grace(container)}`,
      remedy: 'handle TERM, use the exec form so that the program itself is PID 1, or put an init before it',
    }),
  },
  {
    when: (container) => killed(container) && asked(container)?.outcome === 'Ignored',
    verdict: (container) => ({
      text: `ignores TERM; killed after ${grace(container)}`,
      remedy: "it, or who started it, said so (trap '' TERM, nohup): do not",
    }),
  },
  {
    when: (container, { neededMs }) => killed(container) && neededMs !== undefined,
    verdict: (container, { neededMs = 0 }) => ({
      text: `needs ${seconds(neededMs)} to stop, and is killed after ${grace(container)}`,
      remedy: `make terminationGracePeriodSeconds ${Math.ceil((neededMs / 1000) * 1.25) + 1}, or stop sooner`,
    }),
  },
  {
    when: killed,
    verdict: (container) => ({
      text: `gets TERM and goes on; killed after ${grace(container)}`,
      remedy: 'let its handler end the program',
    }),
  },
  {
    when: ({ exitCode, signal }) => signal !== undefined || (exitCode !== undefined && exitCode > 128),
    verdict: ({ exitCode }) => ({
      text: `is ended by the signal, with exit code ${exitCode}`,
      remedy: 'handle TERM: finish what is under way, and exit with 0',
    }),
  },
  {
    when: ({ exitCode }) => exitCode !== undefined && exitCode !== 0,
    verdict: ({ exitCode }) => ({
      text: `exits with ${exitCode} when it is asked to stop`,
      remedy: 'a stop that was asked for is no failure: exit with 0',
    }),
  },
  {
    when: (container) => usedMs(container) > container.gracePeriodSeconds * 1000 * highShare,
    verdict: (container) => ({
      text: `uses ${seconds(usedMs(container))} of ${grace(container)}`,
      remedy: 'leave some of it: on a busy machine this is too little',
    }),
  },
]

/** One for each thing that is wrong; one good one when nothing is. */
export function judge(facts: Facts): Verdict[] {
  const { termination, requests, failure, forced = false } = facts
  const verdicts: Verdict[] = failure === undefined ? [] : [{ good: false, text: failure }]
  const containers = termination?.containers ?? []
  for (const container of forced ? [] : containers) {
    const rule = rules.find(({ when }) => when(container, facts))
    if (rule) verdicts.push({ good: false, container: container.name, ...rule.verdict(container, facts) })
  }
  if (requests && requests.lost > 0) verdicts.push(lostRequests(requests))
  if (verdicts.length > 0) return verdicts
  const longest = Math.max(0, ...containers.map(usedMs))
  const given = termination?.gracePeriodSeconds ?? containers[0]?.gracePeriodSeconds
  if (forced || given === undefined) return [{ good: true, text: 'gone' }]
  return [{ good: true, text: `stopped in ${seconds(longest)} of ${given} s` }]
}

function lostRequests({ sent, lost, firstLostMs = 0, learntMs }: LoadResult): Verdict {
  return {
    good: false,
    text: `loses ${lost} of ${sent} requests: it stops serving ${seconds(firstLostMs)} after the deletion, before its clients know`,
    remedy: `add a preStop sleep of about ${Math.ceil(learntMs / 1000) + 1} s, so that it serves until its endpoint is gone`,
  }
}

/** Without the layers of programs that pass it on, and what is different each time. */
const shortened = (message = ''): string =>
  (message.trim().split('\n')[0] ?? '')
    .replace(/^.*unable to start container process: /, '')
    .replace(/\b127\.\d+\.\d+\.\d+/g, 'POD_IP')

/** Go's `1m2.5s`, as the record has it. */
function goMs(text: string): number {
  return text === '0s' ? 0 : toMs(text)
}
