/** Reduces a recording to a life cycle: the states of each part of the pod, and its kubelet's events, with times. */
import type { Event } from '../../../shared/api/types.ts'
import { plain } from './plain.ts'
import type { Recording } from './player.ts'
import { partsOf } from './states.ts'

export interface State {
  text: string
  atMs: number
  /** The part was soon in another state: a watcher of a slower node may not see this one. */
  isBrief: boolean
}
export interface Told {
  atMs: number
  count: number
}
export interface Life {
  answers: string[]
  /** When the pod used up its events: a kubelet sends 25 of a pod, and then one in five minutes. */
  silentAtMs: number
  /** By part: `phase`, `container c0`, `condition Ready`, `deletion`. */
  parts: Record<string, State[]>
  events: Record<string, Told>
}

/** A real kubelet looks at its containers once a second, and writes one sync later. */
const briefMs = 1_500
/** As client-go's filter of events has it. */
const eventBurst = 25

export function lifeOf({ answers, changes, events }: Recording): Life {
  const parts: Record<string, State[]> = {}
  for (const { atMs, change } of changes) {
    const now: [string, string][] = change.type === 'DELETED' ? [['phase', 'gone']] : partsOf(change.object)
    for (const [part, text] of now) note(parts, { part, text, atMs })
  }
  const goneAtMs = forcedEndMs(parts.phase)
  for (const states of Object.values(parts)) markBrief(states, goneAtMs)
  const told = events.filter(({ event }) => isKubelets(event))
  return { answers, parts, events: toldBy(told), silentAtMs: told[eventBurst - 1]?.atMs ?? Number.MAX_SAFE_INTEGER }
}

function note(
  parts: Record<string, State[]>,
  { part, text, atMs }: { part: string; text: string; atMs: number },
): void {
  const states = parts[part] ?? []
  parts[part] = states
  if (states.at(-1)?.text !== text) states.push({ text, atMs, isBrief: false })
}

function markBrief(states: State[], goneAtMs: number | undefined): void {
  for (const [index, state] of states.entries()) {
    const endAtMs = states[index + 1]?.atMs ?? goneAtMs
    state.isBrief = endAtMs !== undefined && endAtMs - state.atMs < briefMs && state.text !== 'gone'
  }
}

/** When the object went although its containers had not ended: no last status is written then. */
function forcedEndMs(phases: State[] = []): number | undefined {
  const [before, last] = phases.slice(-2)
  return last?.text === 'gone' && !/^(Succeeded|Failed)/.test(before?.text ?? '') ? last.atMs : undefined
}

function toldBy(events: Recording['events']): Life['events'] {
  const told: Life['events'] = {}
  for (const { atMs, event } of events) {
    const key = `${event.type} ${event.reason} ${event.involvedObject.fieldPath ?? ''}: ${plain(event.message ?? '')}`
    const known = told[key] ?? { atMs, count: 0 }
    told[key] = { ...known, count: Math.max(known.count, event.count ?? 1) }
  }
  return told
}

const isKubelets = ({ source, reportingComponent }: Event): boolean =>
  (source?.component ?? reportingComponent) === 'kubelet'
