/** Compares two lives of one subject. */
import { align, isReturn, isWritten } from './align.ts'
import type { Life, State, Told } from './life.ts'

export interface Difference {
  /** What differs: `answers`, `states`, `times`, `events` or `counts`. */
  class: string
  /** The part of the pod, or the reason of the event. */
  of: string
  text: string
}

/** Differences up to the time; what one node did shortly before may come later on the other. */
export function differencesOf(theirs: Life, ours: Life, untilMs: number): Difference[] {
  const parts = [...new Set([...Object.keys(theirs.parts), ...Object.keys(ours.parts)])]
  return [
    ...theirs.answers.flatMap((answer, index): Difference[] => {
      const ourAnswer = ours.answers[index]
      return answer === ourAnswer || ourAnswer === undefined
        ? []
        : [{ class: 'answers', of: `deed ${index}`, text: `${answer} -> ${ourAnswer}` }]
    }),
    ...parts.flatMap((part) => stateDifferences(part, [theirs.parts[part] ?? [], ours.parts[part] ?? []], untilMs)),
    ...endDifferences(theirs, ours),
    ...eventDifferences(theirs, ours, untilMs),
  ]
}

function stateDifferences(of: string, [theirs, ours]: [State[], State[]], untilMs: number): Difference[] {
  const { pairs, missing, extra } = align(theirs, ours)
  const told = (what: string, { atMs, text }: State): Difference => ({
    class: 'states',
    of,
    text: `${what} at ${atMs} ms: ${text}`,
  })
  const counts = (among: State[]) => (state: State) =>
    !state.isBrief && state.atMs < untilMs && !isWritten(state) && !isReturn(state, among)
  return [
    ...missing.filter(counts(theirs)).map((state) => told('missing', state)),
    ...extra.filter(counts(ours)).map((state) => told('extra', state)),
    ...timeDifferences(of, pairs, untilMs),
  ]
}

/** How long a container stays in a state. When it first runs depends on the node's speed alone. */
function timeDifferences(of: string, pairs: [State, State][], untilMs: number): Difference[] {
  if (!of.startsWith('container ')) return []
  const stable = pairs.filter(([a, b]) => !a.isBrief && !b.isBrief && !a.text.startsWith('waiting('))
  return stable.slice(1).flatMap(([a, b], index): Difference[] => {
    const [before, after] = stable[index]!
    const [wanted, taken] = [a.atMs - before.atMs, b.atMs - after.atMs]
    if (isAlike(wanted, taken) || a.atMs >= untilMs) return []
    return [{ class: 'times', of, text: `${wanted} ms wanted, ${taken} ms taken until ${a.text}` }]
  })
}

/** How long the pod takes to end once it is deleted. */
function endDifferences(theirs: Life, ours: Life): Difference[] {
  const [wanted, taken] = [theirs, ours].map(({ parts }) => {
    const goneAtMs = parts.phase?.findLast(({ text }) => text === 'gone')?.atMs
    return goneAtMs === undefined ? undefined : goneAtMs - (parts.deletion?.[0]?.atMs ?? goneAtMs)
  })
  if (wanted === undefined || taken === undefined || isAlike(wanted, taken)) return []
  return [{ class: 'times', of: 'deletion', text: `${wanted} ms wanted, ${taken} ms taken until the pod is gone` }]
}

/** A real node adds its own overhead and jitter, and the machine is busy. */
const isAlike = (wanted: number, taken: number): boolean =>
  taken <= wanted * 1.25 + 2_500 && taken >= wanted * 0.6 - 2_500

function eventDifferences(theirs: Life, ours: Life, untilMs: number): Difference[] {
  const differences: Difference[] = []
  const add = (kind: string, key: string, text: string): void => {
    differences.push({ class: kind, of: key.split(' ')[1] ?? '', text })
  }
  const silentAtMs = Math.min(theirs.silentAtMs, ours.silentAtMs)
  const certain = (key: string, told: Told, events: Life['events']): boolean =>
    isCertain(key, told, events) && told.atMs < Math.min(untilMs, silentAtMs)
  for (const [key, told] of Object.entries(theirs.events)) {
    const known = ours.events[key]
    if (!known) {
      if (certain(key, told, theirs.events)) add('events', key, `missing ${told.count}: ${key}`)
    } else if (silentAtMs > untilMs && Math.abs(known.count - told.count) > Math.max(3, 0.4 * told.count))
      add('counts', key, `${told.count} -> ${known.count}: ${key}`)
  }
  for (const [key, told] of Object.entries(ours.events))
    if (!theirs.events[key] && certain(key, told, ours.events)) add('events', key, `extra ${told.count}: ${key}`)
  return differences
}

/**
 * For each start of its container, one probe that failed may have met the container as it just started or ended. One
 * more may have met the second between a deletion and the kill, in which commands fail. From the eleventh text on, a
 * kubelet combines events of one reason.
 */
function isCertain(key: string, { count }: Told, events: Life['events']): boolean {
  const [, container] = /^Warning Unhealthy (\S*):/.exec(key) ?? []
  const starts = events[`Normal Started ${container}: Container started`]?.count ?? 1
  const chances = starts + (key.endsWith('desc = context canceled') ? 1 : 0)
  return (container === undefined || count > chances) && !key.includes('(combined from similar events)')
}
