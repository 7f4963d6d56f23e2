import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { RecordedLoad } from '../../shared/record/format.ts'

/** Holds the results of a rehearsal, for all formats. */
export interface Report {
  /** When the rehearsal began, in the machine's time (RFC 3339). Older reports have no time. */
  time?: string
  /** Holds the speed of the cluster's time, as a multiple of the machine's. */
  timeScale: number
  workloads: WorkloadReport[]
}

export interface WorkloadReport {
  /** Names the workload as `kubectl` does: `pod/web`. */
  name: string
  /** The manifest; absent where an image or a command was given. */
  file?: string
  /** Lists what is wrong with the manifest, found before anything runs. */
  manifest: Finding[]
  rehearsals: Rehearsal[]
}

/** Holds the result of one death. */
export interface Rehearsal {
  way: string
  /** Reason that the hooks received. Absent if no hook ran, or no reason was given. */
  reason?: string
  hook: 'none' | 'Succeeded' | 'Failed' | 'TimedOut'
  /** Counts the cluster's seconds from the first step to the end of the slowest container. */
  usedSeconds?: number
  graceSeconds?: number
  /** Lists the exit code of each container, in the order of the record. */
  exitCodes: number[]
  /** Present only under load. */
  requests?: { sent: number; lost: number; cut: number; slowestSeconds: number }
  /** Lists the findings, the worst first. It is empty if the pod shut down cleanly. */
  findings: Finding[]
  /** Faster time had been inconclusive: this result is from real time. */
  inRealTime?: true
  /** Faster time is inconclusive, and real time would take too long. */
  inDoubt?: true
  /** Holds the data for the picture, which the JSON report leaves out. Absent if the pod did not end. */
  seen?: Seen
}

export interface Seen {
  termination?: Termination
  pod?: Pod
  /** Holds what clients saw meanwhile. */
  loads?: RecordedLoad[]
}

export type Severity = 'bad' | 'note'

export interface Finding {
  fault: Fault
  /** `note`: worth knowing, and no reason to fail. */
  severity: Severity
  container?: string
  /** Says what is wrong. */
  says: string
  /** Says what to do about it. */
  remedy?: string
}

/** Names what can be wrong. The names are stable, so that programs can rely on them. */
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

/** Returns the bad faults in alphabetical order, without duplicates. */
export const badFaults = (findings: readonly Finding[]): Fault[] =>
  [...new Set(findings.filter(isBad).map(({ fault }) => fault))].sort()

/** Everything that was found of a workload. */
export const findingsOf = ({ manifest, rehearsals }: WorkloadReport): Finding[] => [
  ...manifest,
  ...rehearsals.flatMap(({ findings }) => findings),
]

export const diesWell = (workload: WorkloadReport): boolean => !findingsOf(workload).some(isBad)

/** Returns the verdict in short, without a cause if faster time leaves it open. */
export const verdictOf = ({ findings: [worst], exitCodes }: Pick<Rehearsal, 'findings' | 'exitCodes'>): string =>
  worst?.says ?? (exitCodes.includes(KILLED) ? 'is killed: too little time to tell more' : 'dies well')
const KILLED = 137

export const sentence = ({ container, says, remedy }: Finding): string =>
  `${container === undefined ? '' : `${container}: `}${says}${remedy === undefined ? '' : `: ${remedy}`}`
