import { isDeepStrictEqual } from 'node:util'
import type { Event, Seen } from './history.ts'

/** Which objects a watch asks for, as its query and as a rule. */
export interface Selection {
  query: string
  /** `key`: `namespace/name`. */
  selects(key: string, object: Seen): boolean
}

/** The label that each write gives its object. */
export const parityOf = (value: string): 'even' | 'odd' | undefined => {
  const number = /-(\d+)$/.exec(value)?.[1]
  return number === undefined ? undefined : Number(number) % 2 === 0 ? 'even' : 'odd'
}

/** Each selects the object that ends a round, too: its value is no number. */
export const selections: readonly Selection[] = [
  { query: 'labelSelector=parity!%3Dodd', selects: (_, { value }) => parityOf(value) !== 'odd' },
  { query: 'labelSelector=parity+notin+(even)', selects: (_, { value }) => parityOf(value) !== 'even' },
  { query: 'fieldSelector=metadata.name!%3Dobject-1', selects: (key) => !key.endsWith('/object-1') },
]

/** What there is, by `namespace/name`. */
export type State = ReadonlyMap<string, Seen>

export const keyOf = ({ namespace, key }: Event): string => `${namespace}/${key}`

/** The state after the events. */
export function after(state: State, events: readonly Event[]): Map<string, Seen> {
  const present = new Map(state)
  for (const event of events) apply(present, event)
  return present
}

function apply(present: Map<string, Seen>, event: Event): void {
  if (event.type === 'DELETED') present.delete(keyOf(event))
  else present.set(keyOf(event), event.object)
}

/**
 * What a watch that selects must tell of the events of all: an object that enters the selection is ADDED, one that
 * leaves it is DELETED, as it was before and with the revision of the change.
 */
export function selected(events: readonly Event[], state: State, { selects }: Selection): Event[] {
  const present = new Map(state)
  return events.flatMap((event): Event[] => {
    const key = keyOf(event)
    const { type, object } = event
    const before = present.get(key)
    const was = before !== undefined && selects(key, before)
    const is = type !== 'DELETED' && selects(key, object)
    apply(present, event)
    if (is) return [{ ...event, type: was ? 'MODIFIED' : 'ADDED' }]
    if (!was) return []
    if (type === 'DELETED') return [event]
    return [{ ...event, type: 'DELETED', object: { ...before, resourceVersion: object.resourceVersion } }]
  })
}

const shown = (event: Event | undefined): string =>
  event ? `${event.type} ${event.key} of ${event.object.resourceVersion} (${event.object.value})` : 'nothing'

/** In words, where the two differ first; undefined where they are the same. */
export function difference(must: readonly Event[], is: readonly Event[]): string | undefined {
  const length = Math.max(must.length, is.length)
  for (let index = 0; index < length; index++)
    if (!isDeepStrictEqual(must[index], is[index])) return `tells ${shown(is[index])} instead of ${shown(must[index])}`
  return undefined
}

/** What a watch has told that began with the state, and not after a revision. */
export interface FromState {
  initial: readonly Event[]
  later: readonly Event[]
  /** The revision of the state, where the server says it. */
  at?: number
}

/**
 * Whether there is a moment of the history at which the selection was `initial`, and after which `later` follows; in
 * words, why not. A stream that was cut has told the beginning of it.
 */
export function checkFromState(
  { initial, later, at }: FromState,
  { events, state, selection }: { events: readonly Event[]; state: State; selection: Selection },
): string | undefined {
  const told = new Map(initial.map((event) => [keyOf(event), event.object]))
  if (told.size !== initial.length) return 'tells an object twice in its initial events'
  let best = 'tells initial events that are the state at no revision'
  const sorted = new Map([...told].sort())
  const now = new Map(state)
  for (let index = 0; index <= events.length; index++) {
    if (index > 0) apply(now, events[index - 1]!)
    const revision = events[index - 1]?.object.resourceVersion ?? 0
    const next = events[index]?.object.resourceVersion ?? Number.POSITIVE_INFINITY
    if (at !== undefined && !(revision <= at && at < next)) continue
    const chosen = [...now].filter(([key, object]) => selection.selects(key, object))
    if (chosen.length !== told.size || !isDeepStrictEqual(new Map(chosen.sort()), sorted)) continue
    const must = selected(events.slice(index), now, selection).slice(0, later.length)
    const wrong = difference(must, later)
    if (wrong === undefined) return undefined
    best = `${wrong} after its initial events`
  }
  return at === undefined ? best : `${best} (the server says ${at})`
}
