import type { VerdictType } from '../../../shared/api/termination.ts'
import type { SignalReception } from '../../runtime/container-runtime.ts'

/** Holds the facts about how one container was stopped. */
export interface KillFacts {
  graceSeconds: number
  /** Counts milliseconds from the first step to the container's end. */
  usedMs: number
  /** Holds the outcome of the preStop hook; absent without a hook. */
  hook?: HookOutcome
  /** The signals in the order in which they were sent. */
  signals: { name: string; reception?: SignalReception; afterMs: number }[]
  exitCode?: number
  /** The kernel ended it, because its memory was used up. */
  ranOutOfMemory?: boolean
}
export type HookOutcome = 'Succeeded' | 'Failed' | 'TimedOut'

interface Rule {
  type: VerdictType
  when(facts: KillFacts): boolean
  say(facts: KillFacts): string
}

const killed = ({ signals }: KillFacts): boolean => signals.some(({ name }) => name === 'SIGKILL')
const takes = ({ signals }: KillFacts, disposition: SignalReception['disposition']): boolean =>
  signals[0]?.reception?.disposition === disposition
/** The signal that asks: mostly TERM. */
const asked = ({ signals }: KillFacts): string => signals[0]?.name.replace('SIG', '') ?? 'TERM'
const inTime = ({ usedMs, graceSeconds }: KillFacts): string => `stopped in ${seconds(usedMs)} of ${graceSeconds} s`
const atDeadline = 'killed at the deadline'

/** The first that applies says it. */
const rules: Rule[] = [
  {
    type: 'OutOfMemory',
    when: ({ ranOutOfMemory = false }) => ranOutOfMemory,
    say: () => 'ended by the kernel: its memory was used up',
  },
  {
    type: 'EndedInHook',
    when: ({ signals, hook }) => signals.length === 0 && hook !== undefined,
    say: () => 'ended during its preStop hook',
  },
  { type: 'EndedUnasked', when: ({ signals }) => signals.length === 0, say: () => 'ended before it was asked to' },
  {
    type: 'HookOverranKilled',
    when: (facts) => killed(facts) && facts.hook === 'TimedOut',
    say: (facts) => `preStop used all the grace, killed ${seconds(sinceAsked(facts))} after ${asked(facts)}`,
  },
  {
    type: 'HookOverran',
    when: ({ hook }) => hook === 'TimedOut',
    say: (facts) => `preStop used all the grace, stopped ${seconds(sinceAsked(facts))} after ${asked(facts)}`,
  },
  {
    type: 'NoHandler',
    when: (facts) => killed(facts) && takes(facts, 'default') && facts.signals[0]?.reception?.isInit === true,
    say: (facts) => `ignored ${asked(facts)}: PID 1 has no handler, ${atDeadline}`,
  },
  {
    type: 'IgnoredSignal',
    when: (facts) => killed(facts) && takes(facts, 'ignored'),
    say: (facts) => `ignored ${asked(facts)}, ${atDeadline}`,
  },
  {
    type: 'CaughtButWentOn',
    when: (facts) => killed(facts) && takes(facts, 'caught'),
    say: (facts) => `caught ${asked(facts)} but went on, ${atDeadline}`,
  },
  { type: 'Killed', when: (facts) => killed(facts) && asked(facts) === 'KILL', say: () => atDeadline },
  { type: 'KilledAtDeadline', when: killed, say: (facts) => `did not end after ${asked(facts)}, ${atDeadline}` },
  {
    type: 'StoppedWithError',
    when: endedByItself,
    say: (facts) => `${inTime(facts)}, with exit code ${facts.exitCode}`,
  },
  { type: 'Stopped', when: () => true, say: inTime },
]

/**
 * Returns the verdict on a pod that ended while no container ran. `hasRun`: a container ran before, and would have been
 * restarted.
 */
export const idleVerdict = (hasRun: boolean): Verdict =>
  hasRun
    ? { type: 'NotRunning', text: 'no container ran: its restart was in back-off' }
    : { type: 'NotStarted', text: 'no container had started' }

export interface Verdict {
  /** A word that all verdicts of this kind share, to count and select by. */
  type: VerdictType
  text: string
}

/** Returns the verdict on how a container was stopped. */
export function verdict(facts: KillFacts): Verdict {
  const { type, say } = rules.find(({ when }) => when(facts))!
  const said = [say(facts)]
  if (facts.hook === 'Failed') said.push('its preStop hook failed')
  if (facts.signals[0]?.reception?.wouldIgnore) said.push(`would ignore ${asked(facts)} as PID 1`)
  return { type, text: said.join('; ') }
}

/** Returns true if the container exited with a code of its own that is not 0. */
function endedByItself({ exitCode, signals }: KillFacts): boolean {
  return exitCode !== undefined && exitCode !== 0 && endingSignal({ exitCode, signals }) === undefined
}

/** The signal, among those sent, that ended the process. */
export function endingSignal({ exitCode = 0, signals }: Pick<KillFacts, 'exitCode' | 'signals'>): string | undefined {
  return signals.find(({ name }) => exitCode === 128 + (numbers[name] ?? Number.NaN))?.name
}

const numbers: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGTERM: 15,
}

const sinceAsked = ({ usedMs, signals }: KillFacts): number => usedMs - (signals[0]?.afterMs ?? 0)
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
