import { hookSleepSeconds } from '../../../shared/api/pods/hook-sleep.ts'
import type { Container } from '../../../shared/api/types.ts'
import { badFaults, type Fault, type Finding, isBad, type Rehearsal } from '../report.ts'
import type { Way } from '../ways.ts'
import { podGraceSeconds, type Workload } from '../workload.ts'
import type { Thresholds } from './thresholds.ts'

/** Describes the conditions under which a death was observed. */
export interface Pace {
  /** Holds the speed of the cluster's time, as a multiple of the machine's. */
  scale: number
  thresholds: Thresholds
  endpointDelayMs: number
}
export interface Death {
  workload: Workload
  way: Way
}

/**
 * Faults found by comparing times: what a program, or the machine, needs for a step counts as many times as time is
 * faster.
 */
const timed: readonly Fault[] = [
  'goes-on-after-term',
  'grace-too-short',
  'hook-overruns',
  'hook-uses-most',
  'slow-stop',
  'slow-liveness-death',
  'stops-too-soon',
  'cuts-requests',
]
/** Faults of programs that get no TERM, and so serve until they are killed. */
const deaf: readonly Fault[] = ['no-term-handler', 'shell-swallows-term', 'ignores-term']

/**
 * Returns the faults that faster time leaves undecided: those found whose cause is not certain from the manifest, and
 * those that may have been missed. Returns none in real time.
 */
export function doubtsOf(death: Death, rehearsal: Rehearsal, pace: Pace): Fault[] {
  if (pace.scale === 1) return []
  const found = badFaults(rehearsal.findings)
  const isOpen = (fault: Fault): boolean => timed.includes(fault) && !isCertain(fault, death, rehearsal, pace)
  return [...new Set([...found.filter(isOpen), ...maybeMissed(death, rehearsal, { found, pace })])].sort()
}

/** Notes say nothing that faster time leaves open, unless it is known from another way to die. */
export function withoutDoubtfulNotes(
  death: Death,
  rehearsal: Rehearsal,
  { known, ...pace }: Pace & { known: readonly Fault[] },
): Finding[] {
  const isTold = (finding: Finding): boolean => {
    const { fault } = finding
    return isBad(finding) || !timed.includes(fault) || known.includes(fault) || isCertain(fault, death, rehearsal, pace)
  }
  return pace.scale === 1 ? rehearsal.findings : rehearsal.findings.filter(isTold)
}

/** A hook that does nothing but sleep says itself how long it takes. */
function isCertain(fault: Fault, { workload, way }: Death, { graceSeconds = 0 }: Rehearsal, pace: Pace): boolean {
  const slept = Math.max(0, ...sleeps(workload))
  if (fault === 'hook-uses-most') return slept > (graceSeconds * pace.thresholds.maxGraceUsed) / 100
  if (fault === 'hook-overruns') return slept >= graceSeconds
  return fault === 'grace-too-short' && way.measuresGrace === true && slept >= podGraceSeconds(workload)
}

/**
 * Programs that wait by themselves do so longer than others send requests, or than four times their grace: here, and
 * not in real time.
 */
function maybeMissed(
  { workload, way }: Death,
  { requests, usedSeconds = 0, graceSeconds = 0 }: Rehearsal,
  { found, pace }: { found: readonly Fault[]; pace: Pace },
): Fault[] {
  const slept = sleeps(workload)
  if (way.measuresGrace) {
    const isKilled = usedSeconds >= graceSeconds && !slept.some((seconds) => seconds >= graceSeconds)
    return isKilled ? ['grace-too-short'] : []
  }
  const isJudged = (fault: Fault): boolean => !(way.mild === 'all' || way.mild?.includes(fault) || way.judges)
  if (!requests || found.some((fault) => deaf.includes(fault))) return []
  // Until then others send requests, and until then the last of them is answered: here, and so in real time at the
  // latest.
  const sentSeconds = pace.endpointDelayMs / 1000
  const answeredSeconds = sentSeconds + requests.slowestSeconds
  const isCovered = (untilSeconds: number): boolean => slept.every((seconds) => seconds >= untilSeconds)
  return [
    ...(isJudged('stops-too-soon') && !isCovered(sentSeconds) ? (['stops-too-soon'] as const) : []),
    ...(isJudged('cuts-requests') && !isCovered(answeredSeconds) ? (['cuts-requests'] as const) : []),
  ]
}

const sleeps = ({ template }: Workload): number[] =>
  template.spec.containers.map((container: Container) => hookSleepSeconds(container) ?? 0)
