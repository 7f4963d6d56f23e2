import { statSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename } from 'node:path'
import { readNamedFile } from '../../shared/config/named-file.ts'
import { UsageError } from '../../shared/config/option.ts'
import { at, listAt, msOf, numberAt, plain, textAt } from '../../ui/story/text.ts'
import { type Status, statuses, statusOf } from './status.ts'

/** Holds what a trend needs of an earlier JSON report. */
export interface Earlier {
  /** Holds the name of the report's file, without `.json`. */
  label: string
  /** Tells when the report was made; absent in reports that do not say it. */
  timeMs?: number
  /** Keyed by the name of a workload, then of a way. */
  workloads: Map<string, Map<string, EarlierWay>>
}

export interface EarlierWay {
  status: Status
  usedSeconds?: number
  graceSeconds?: number
  says: string
}

const mostFiles = 50
const mostBytes = 64_000_000

/** In the order of their times where each says one, and as they were given otherwise. Throws a UsageError. */
export async function readEarlier(patterns: readonly string[]): Promise<Earlier[]> {
  const files = new Set<string>()
  for (const pattern of patterns) for (const file of await filesOf(pattern)) files.add(file)
  if (files.size > mostFiles)
    throw new UsageError(`--earlier names ${files.size} reports: a trend shows ${mostFiles} at most`)
  const all = [...files].map((file) => readReport(file))
  return all.every(({ timeMs }) => timeMs !== undefined) ? all.sort((a, b) => (a.timeMs ?? 0) - (b.timeMs ?? 0)) : all
}

/** A pattern may stand for nothing: the first report of all has none before it. A name has to be that of a file. */
async function filesOf(pattern: string): Promise<string[]> {
  if (!/[*?[{]/.test(pattern) || statSync(pattern, { throwIfNoEntry: false })) return [pattern]
  return (await Array.fromAsync(glob(pattern))).sort()
}

function readReport(file: string): Earlier {
  const report = earlierOf(basename(file).replace(/\.json$/i, ''), parsed(file))
  if (report) return report
  throw new UsageError(`${file} is not a report of kubestage rehearse: make one with -o json`)
}

function parsed(file: string): unknown {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > mostBytes) return undefined
  const text = readNamedFile(file)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads an earlier report; undefined if the value is not a report. */
export function earlierOf(label: string, value: unknown): Earlier | undefined {
  const workloads = at(value, 'workloads')
  const isWorkload = (each: unknown): boolean =>
    typeof at(each, 'name') === 'string' && Array.isArray(at(each, 'rehearsals'))
  if (!Array.isArray(workloads) || !workloads.every(isWorkload)) return undefined
  return {
    label: plain(label),
    timeMs: msOf(at(value, 'time')),
    workloads: new Map(workloads.map((workload) => [textAt(workload, 'name'), waysOf(workload)])),
  }
}

const waysOf = (workload: unknown): Map<string, EarlierWay> =>
  new Map(listAt(workload, 'rehearsals').map((rehearsal) => [textAt(rehearsal, 'way'), wayOf(rehearsal)]))

function wayOf(rehearsal: unknown): EarlierWay {
  const findings = listAt(rehearsal, 'findings')
  const status = statusOf(
    findings.map((finding) => at(finding, 'severity')),
    at(rehearsal, 'inDoubt') === true,
  )
  return {
    status,
    usedSeconds: numberAt(rehearsal, 'usedSeconds'),
    graceSeconds: numberAt(rehearsal, 'graceSeconds'),
    says: textAt(findings[0], 'says') || statuses[status].words,
  }
}
