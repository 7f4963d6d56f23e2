import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { RecordedLoad } from '../../shared/record/format.ts'

/** What a rehearsal found out, for all formats. */
export interface Report {
  /** RFC 3339, of the machine: when it began. Older reports have none. */
  time?: string
  /** How many times faster than the machine's the cluster's time was. */
  timeScale: number
  workloads: WorkloadReport[]
}

export interface WorkloadReport {
  /** As in `kubectl`: `pod/web`. */
  name: string
  /** The manifest; absent where an image or a command was given. */
  file?: string
  /** What is wrong with the manifest, seen before anything runs. */
  manifest: Finding[]
  rehearsals: Rehearsal[]
}

/** One death. */
export interface Rehearsal {
  way: string
  /** The reason in its hooks; absent if no hook ran, or no reason was given. */
  reason?: string
  hook: 'none' | 'Succeeded' | 'Failed' | 'TimedOut'
  /** Of the container that needed longest, from the first step to its end, in seconds of the cluster. */
  usedSeconds?: number
  graceSeconds?: number
  /** By container, in the order of the record. */
  exitCodes: number[]
  /** Only under load. */
  requests?: { sent: number; lost: number; cut: number; slowestSeconds: number }
  /** The worst first. Nothing: it died well. */
  findings: Finding[]
  /** Faster time had left it in doubt: this is what real time says. */
  inRealTime?: true
  /** Faster time leaves it in doubt, and real time would take too long. */
  inDoubt?: true
  /** What a picture of it shows; not in JSON. Absent where the pod did not die. */
  seen?: Seen
}

export interface Seen {
  termination?: Termination
  pod?: Pod
  /** What clients saw meanwhile. */
  loads?: RecordedLoad[]
}

export type Severity = 'bad' | 'note'

export interface Finding {
  fault: Fault
  /** `note`: worth knowing, and no reason to fail. */
  severity: Severity
  container?: string
  /** What is wrong. */
  says: string
  /** What to do about it. */
  remedy?: string
}

/** Stable names, for machines. */
export type Fault =
  | 'not-started'
  | 'unknown-image'
  | 'ends-by-itself'
  | 'refused'
  | 'cannot-be-done'
  | 'no-term-handler'
  | 'shell-swallows-term'
  | 'ignores-term'
  | 'goes-on-after-term'
  | 'grace-too-short'
  | 'slow-stop'
  | 'hook-overruns'
  | 'hook-uses-most'
  | 'hook-fails'
  | 'hook-without-listener'
  | 'exits-143'
  | 'exits-non-zero'
  | 'leaves-children'
  | 'stops-too-soon'
  | 'cuts-requests'
  | 'slow-liveness-death'
  | 'does-not-come-back'
  | 'hook-longer-than-grace'
  | 'reason-delivery'
  | 'reason-unheard'
  | 'probe-grace'

const rank: Record<Severity, number> = { bad: 0, note: 1 }

/** The worst first; those of one severity in the order in which they were found. */
export const worstFirst = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted((a, b) => rank[a.severity] - rank[b.severity])

export const isBad = ({ severity }: Finding): boolean => severity === 'bad'

/** Each once, in alphabetical order. */
export const badFaults = (findings: readonly Finding[]): Fault[] =>
  [...new Set(findings.filter(isBad).map(({ fault }) => fault))].sort()

/** Everything that was found of a workload. */
export const findingsOf = ({ manifest, rehearsals }: WorkloadReport): Finding[] => [
  ...manifest,
  ...rehearsals.flatMap(({ findings }) => findings),
]

export const diesWell = (workload: WorkloadReport): boolean => !findingsOf(workload).some(isBad)

/** In short, without a cause if faster time leaves it open. */
export const verdictOf = ({ findings: [worst], exitCodes }: Pick<Rehearsal, 'findings' | 'exitCodes'>): string =>
  worst?.says ?? (exitCodes.includes(KILLED) ? 'is killed: too little time to tell more' : 'dies well')
const KILLED = 137

/** In one sentence, with what to do. */
export const sentence = ({ container, says, remedy }: Finding): string =>
  `${container === undefined ? '' : `${container}: `}${says}${remedy === undefined ? '' : `: ${remedy}`}`
