import { Fragment, h, type JSX } from 'preact'
import { type Finding, isBad, type Rehearsal, type WorkloadReport } from '../../report.ts'
import { type Status, statuses, statusOf } from '../../status.ts'

/** The row of what is seen before anything runs. */
export const MANIFEST = 'manifest'

/** Describes one cell of the matrix: one way, or the check of the manifest, of one workload. */
export interface Cell {
  id: string
  way: string
  status: Status
  findings: readonly Finding[]
  /** Holds the rehearsal; absent for the check of the manifest. */
  rehearsal?: Rehearsal
}

export interface Column {
  workload: WorkloadReport
  /** Maps names of ways to their cells. */
  cells: Map<string, Cell>
}

export const columnsOf = (workloads: readonly WorkloadReport[]): Column[] =>
  workloads.map((workload, index) => ({
    workload,
    cells: new Map([
      [MANIFEST, cellOf(`w${index}-${MANIFEST}`, MANIFEST, workload.manifest)],
      ...workload.rehearsals.map(
        (rehearsal, row) =>
          [rehearsal.way, cellOf(`w${index}-${row}`, rehearsal.way, rehearsal.findings, rehearsal)] as const,
      ),
    ]),
  }))

function cellOf(id: string, way: string, findings: readonly Finding[], rehearsal?: Rehearsal): Cell {
  const severities = findings.map(({ severity }) => severity)
  return { id, way, status: statusOf(severities, rehearsal?.inDoubt), findings, rehearsal }
}

/** A sign that needs no colour, and its words for screen readers. */
export function Mark({ status, words = statuses[status].words }: { status: Status; words?: string }): JSX.Element {
  return h(Fragment, null, [
    h('span', { class: `mark ${status}`, 'aria-hidden': 'true' }, statuses[status].mark),
    h('span', { class: 'words' }, `${words} `),
  ])
}

export const manifestWords = (findings: readonly Finding[]): string => {
  const bad = findings.filter(isBad).length
  if (bad > 0) return `${bad} ${bad === 1 ? 'fault' : 'faults'}`
  return findings.length === 0 ? 'no fault' : `${findings.length} ${findings.length === 1 ? 'note' : 'notes'}`
}

interface Used {
  usedSeconds?: number
  graceSeconds?: number
}

const barWidth = 44

/** Shows how much of the grace period was used, as a bar and in seconds. */
export function UsedBar({ usedSeconds, graceSeconds = 0 }: Used): JSX.Element | null {
  if (usedSeconds === undefined) return null
  const part = graceSeconds > 0 ? Math.min(Math.max(usedSeconds / graceSeconds, 0), 1) : 0
  const size = { width: barWidth, height: 8, viewBox: `0 0 ${barWidth} 8` }
  const kind = usedSeconds >= graceSeconds ? 'kill' : 'term'
  return h('svg', { class: 'ks used', ...size, 'aria-hidden': 'true' }, [
    h('rect', { class: 'track', width: barWidth, height: 8, rx: 2 }),
    h('rect', { class: kind, width: Math.max(part * barWidth, 1.5), height: 8, rx: 2 }),
  ])
}

export const usedWords = ({ usedSeconds }: Used): string =>
  usedSeconds === undefined ? '' : `${usedSeconds.toFixed(1)} s`
