import type { Death, Mark, PodStory } from './model.ts'

/** Requests that one pod lost in one stretch of time. */
export interface LossRun {
  startMs: number
  endMs: number
  lost: number
  cut: number
}

/** Intervals with a shorter gap than this belong to one stretch. */
const joinMs = 1_000

/** Adds an interval to the last stretch, or begins a new one. */
export function addLoss(runs: LossRun[], { startMs, endMs, lost, cut }: LossRun): void {
  const last = runs.at(-1)
  if (!last || startMs - last.endMs > joinMs) return void runs.push({ startMs, endMs, lost, cut })
  last.endMs = Math.max(last.endMs, endMs)
  last.lost += lost
  last.cut += cut
}

/** Returns words such as `12 requests were lost, 1 was cut`. */
export function lostWords({ lost, cut }: Pick<LossRun, 'lost' | 'cut'>): string {
  const were = (count: number): string => (count === 1 ? 'was' : 'were')
  const requests = `${lost} ${lost === 1 ? 'request' : 'requests'} ${were(lost)} lost`
  return [lost && requests, cut && `${cut} ${were(cut)} cut`].filter(Boolean).join(', ')
}

const sumOf = (lost: Death['lost']): number => lost.reduce((total, { count }) => total + count, 0)

/** Returns how many requests a pod lost, as clients told or, without that, as its record counts. */
export const lostCount = ({ deaths }: PodStory, losses: readonly LossRun[] = []): number =>
  losses.length > 0
    ? losses.reduce((sum, { lost, cut }) => sum + lost + cut, 0)
    : deaths.reduce((sum, death) => sum + sumOf(death.lost), 0)

function countedWords(lost: Death['lost']): string {
  return `${lostWords({ lost: sumOf(lost), cut: 0 })}: ${lost.map(({ kind, count }) => `${count} ${kind}`).join(', ')}`
}

/** Returns all marks of a pod, with one for each SIGKILL and each stretch of lost requests, sorted by time. */
export function allMarks({ marks, deaths }: PodStory, losses: readonly LossRun[] = []): Mark[] {
  const all = [...marks]
  for (const { containers } of deaths)
    for (const { name, segments } of containers)
      for (const { kind, startMs } of segments)
        if (kind === 'kill') all.push({ kind, atMs: startMs, text: `SIGKILL to ${name}` })
  // What clients told has its times; what a record counts has none.
  if (losses.length === 0)
    for (const { lost, endMs } of deaths)
      if (lost.length > 0) all.push({ kind: 'lost', atMs: endMs, text: countedWords(lost) })
  for (const run of losses) all.push({ kind: 'lost', atMs: run.startMs, text: lostWords(run) })
  return all.sort((a, b) => a.atMs - b.atMs)
}
