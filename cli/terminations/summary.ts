import type { Termination } from '../../shared/api/termination.ts'

/** Terminations are grouped by these, which have the names of the field selectors. */
const groups = {
  reason: ({ reason }: Termination) => reason,
  cause: ({ cause }: Termination) => cause,
  verdict: ({ verdictType }: Termination) => verdictType,
  user: ({ requests }: Termination) => requests?.at(-1)?.user,
  workload: ({ metadata, workload }: Termination) => workload && `${metadata.namespace}/${workload}`,
}
export type GroupName = keyof typeof groups
export const groupNames = Object.keys(groups) as [GroupName, ...GroupName[]]

export interface Group {
  /** Holds the value; empty for records that have none. */
  value: string
  count: number
  /** Counts those that were killed because they did not end in time. */
  killed: number
  /** Seconds of grace: given on average, and used on average. */
  givenSeconds: number
  usedSeconds: number
  /** Tells when the newest one began, in RFC 3339. */
  last: string
}

const killedTypes = new Set([
  'NoHandler',
  'IgnoredSignal',
  'CaughtButWentOn',
  'Killed',
  'KilledAtDeadline',
  'HookOverranKilled',
  'OutOfMemory',
])

/** Groups the records and counts each group, the largest group first. */
export function summarize(records: readonly Termination[], by: GroupName): Group[] {
  const found = Map.groupBy(records, (record) => groups[by](record) ?? '')
  return [...found]
    .map(([value, members]): Group => {
      // Records without a grace period are of pods that had no container to stop.
      const stopped = members.filter(({ gracePeriodSeconds }) => gracePeriodSeconds !== undefined)
      return {
        value,
        count: members.length,
        killed: members.filter(({ verdictType = '' }) => killedTypes.has(verdictType)).length,
        givenSeconds: mean(stopped.map(({ gracePeriodSeconds = 0 }) => gracePeriodSeconds)),
        usedSeconds: mean(stopped.map(usedSeconds)),
        last:
          members
            .map(({ startTime = '' }) => startTime)
            .toSorted()
            .at(-1) ?? '',
      }
    })
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}

const usedSeconds = ({ startTime = '', endTime = '' }: Termination): number =>
  (Date.parse(endTime) - Date.parse(startTime)) / 1000 || 0

const mean = (numbers: readonly number[]): number =>
  Math.round((numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length)) * 1000) / 1000

const width = 60

/** For a terminal: a reason is what a user wrote, and may hold what moves a cursor or turns a line round. */
export const tableOf = (found: readonly Group[], by: GroupName): string[][] => [
  [by.toUpperCase(), 'COUNT', 'KILLED', 'GRACE', 'USED', 'LAST'],
  ...found.map(({ value, count, killed, givenSeconds, usedSeconds, last }) => [
    shown(value),
    String(count),
    String(killed),
    `${givenSeconds.toFixed(0)} s`,
    `${usedSeconds.toFixed(1)} s`,
    shown(last.slice(0, 19)),
  ]),
]

function shown(value: string): string {
  if (value === '') return '<none>'
  const plain = value.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`,
  )
  return plain.length > width ? `${plain.slice(0, width - 1)}…` : plain
}
