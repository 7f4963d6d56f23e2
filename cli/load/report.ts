import { inWords, lostOf, type PodTally, type Tally } from './tally.ts'

export interface Run {
  /** `svc/shop` */
  target: string
  namespace: string
  tally: Tally
  /** Counts the machine's seconds in which requests were sent. */
  seconds: number
  /** Requests that were due, and could not be sent. */
  notSent: number
}

interface Row {
  sent: number
  answered: number
  lost: number
  losses: PodTally['losses']
  latencyMs: { p50?: number; p99?: number }
  firstLostAt?: string
  lastLostAt?: string
}

/** Describes the output of `kubestage load -o json`. */
export interface LoadReport extends Row, Omit<Run, 'tally'> {
  /** Sorted by lost requests, most first. The row without a name has the requests sent while clients knew no pod. */
  pods: (Row & { name: string; uid: string })[]
}

export function reportOf({ tally, seconds, ...run }: Run): LoadReport {
  const pods = [...tally.pods.values()].sort((a, b) => lostOf(b) - lostOf(a) || (a.name < b.name ? -1 : 1))
  return {
    ...run,
    seconds: Math.round(seconds * 10) / 10,
    ...rowOf(tally.all),
    pods: pods.map((pod) => ({ name: pod.name, uid: pod.uid, ...rowOf(pod) })),
  }
}

function rowOf({ sent, answered, losses, latencies, firstLostMs, lastLostMs }: PodTally): Row {
  const rounded = (ms: number | undefined): number | undefined => ms && Math.round(ms * 100) / 100
  const at = (ms: number): string => new Date(ms).toISOString()
  return {
    ...{ sent, answered, lost: lostOf({ sent, answered }), losses },
    latencyMs: { p50: rounded(latencies.quantile(0.5)), p99: rounded(latencies.quantile(0.99)) },
    ...(firstLostMs !== undefined && { firstLostAt: at(firstLostMs) }),
    ...(lastLostMs !== undefined && { lastLostAt: at(lastLostMs) }),
  }
}

/** Limits the rows; more pods are counted in JSON alone. */
const mostRows = 50

/** Returns the rows of the table: the head, a line for each pod, and the sum. */
export function tableOf(report: LoadReport): string[][] {
  const shown = report.pods.slice(0, mostRows)
  const left = report.pods.length - shown.length
  return [
    ['POD', 'SENT', 'ANSWERED', 'LOST', 'P50', 'P99', 'KINDS'],
    ...shown.map((pod) => cellsOf(pod.name || '<none>', pod)),
    ...(left > 0 ? [[`… ${left} more`]] : []),
    cellsOf('all', report),
  ]
}

function cellsOf(name: string, { sent, answered, lost, losses, latencyMs: { p50, p99 } }: Row): string[] {
  const time = (ms: number | undefined): string => (ms === undefined ? '–' : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`)
  return [name, `${sent}`, `${answered}`, `${lost}`, time(p50), time(p99), inWords(losses) || '–']
}
