import { isDeepStrictEqual } from 'node:util'
import type { Event, Gap, History, List, Operation, Seen, Told } from './history.ts'

/** What must be true of a history beside the linearizability of each object; in words, what is not. Pure functions. */
export function checkHistory(history: History, streams: readonly Told[]): string[] {
  const { namespace, operations, lists } = history
  const mine = streams.map(({ events, gaps }) => ({
    events: events.filter((event) => event.namespace === namespace),
    gaps: gaps.map((gap) => ({ ...gap, state: within(namespace, gap.state) })),
  }))
  const gaps = mine.flatMap((told) => told.gaps).sort((a, b) => a.to - b.to)
  const { events, violations } = merged(mine)
  return [
    ...violations,
    ...checkEvents(events, operations, gaps),
    ...checkOrder(history),
    ...lists.flatMap((list) => checkList(list, events, gaps)),
  ].map((what) => `${namespace}: ${what}`)
}

/** The objects of one namespace, by name. */
const within = (namespace: string, state: ReadonlyMap<string, Seen>): Map<string, Seen> =>
  new Map(
    [...state].flatMap(([key, seen]) =>
      key.startsWith(`${namespace}/`) ? [[key.slice(namespace.length + 1), seen]] : [],
    ),
  )

const isIn = (gaps: readonly Gap[], revision: number): boolean =>
  gaps.some(({ after, to }) => revision > after && revision <= to)

/** A watch from a revision that was seen before tells again what the first one told after it: all of it, and nothing else. */
export function checkReplay(told: readonly Event[], from: number, replay: readonly Event[]): string[] {
  const wanted = told.filter(({ object }) => object.resourceVersion > from)
  const index = wanted.findIndex((event, index) => !isDeepStrictEqual(event, replay[index]))
  if (index < 0 && replay.length === wanted.length) return []
  const [must, is] = index < 0 ? [undefined, replay[wanted.length]] : [wanted[index], replay[index]]
  return [`a watch from ${from} tells ${eventShown(is)} instead of ${eventShown(must)}`]
}

const eventShown = (event: Event | undefined): string =>
  event ? `${event.type} ${event.key} of ${event.object.resourceVersion}` : 'nothing'

/** The one history that all watches tell, in the order of revisions: an event that one lacks was dropped. */
function merged(streams: readonly Told[]): { events: Event[]; violations: string[] } {
  const violations: string[] = []
  const all = new Map<number, Event>()
  for (const event of streams.flatMap(({ events }) => events)) {
    const { resourceVersion } = event.object
    const known = all.get(resourceVersion)
    if (known && !isDeepStrictEqual(known, event))
      violations.push(`two events at ${resourceVersion}: ${event.key}, ${known.key}`)
    all.set(resourceVersion, event)
  }
  for (const [index, { events, gaps }] of streams.entries()) {
    const own = new Set(events.map(({ object }) => object.resourceVersion))
    for (const [resourceVersion, { type, key }] of all)
      if (!own.has(resourceVersion) && !isIn(gaps, resourceVersion))
        violations.push(`watch ${index} lacks ${type} ${key} of ${resourceVersion}`)
  }
  const events = [...all.values()].sort((a, b) => a.object.resourceVersion - b.object.resourceVersion)
  return { events, violations }
}

/** Writes that left an object with a revision of their own. A delete may answer with one of an earlier delete. */
const writes = (operations: readonly Operation[]): Operation[] =>
  operations.filter(
    ({ verb, output: { object } }) =>
      object && verb !== 'get' && verb !== 'delete' && !(object.isDeleting && !object.hasFinalizer),
  )

function checkEvents(events: readonly Event[], operations: readonly Operation[], gaps: readonly Gap[]): string[] {
  const violations: string[] = []
  const byRevision = new Map(events.map((event) => [event.object.resourceVersion, event]))
  for (const { verb, key, input, output } of writes(operations)) {
    const { resourceVersion } = output.object!
    const event = byRevision.get(resourceVersion)
    if (!event && isIn(gaps, resourceVersion)) continue
    if (event?.object.value === input.value && event?.key === key) continue
    violations.push(`no event of the acknowledged ${verb} of ${input.value} at ${resourceVersion}`)
  }
  const asked = new Set(operations.map(({ input }) => input.value))
  const introduced = new Set<string>()
  const present = new Map<string, Seen>()
  const listed = [...gaps]
  for (const { type, key, object } of events) {
    while (listed[0] && listed[0].to < object.resourceVersion) violations.push(...listAgain(listed.shift()!))
    const before = present.get(key)
    const at = `${type} ${key} at ${object.resourceVersion}`
    if ((type === 'ADDED') === (before !== undefined))
      violations.push(`${at} of an object that is ${before ? 'there' : 'absent'}`)
    if (object.value.startsWith('half')) violations.push(`${at} is ${object.value}`)
    if (before?.value !== object.value) {
      if (introduced.has(object.value)) violations.push(`${at} shows ${object.value} a second time`)
      if (!asked.has(object.value)) violations.push(`${at} shows ${object.value}, which no client wrote`)
      introduced.add(object.value)
    }
    if (type === 'DELETED' && before?.hasFinalizer && !before.isDeleting)
      violations.push(`${at}, whose finalizer nothing has removed`)
    if (type === 'DELETED') present.delete(key)
    else present.set(key, object)
  }
  return violations

  /** The list says what there is; whatever has changed in it has changed after the events before it. */
  function listAgain({ after, to, state }: Gap): string[] {
    const found = [...state].flatMap(([key, object]) => {
      const at = `${key} of ${object.resourceVersion} in the list at ${to}`
      const before = present.get(key)
      if (isDeepStrictEqual(before, object)) return []
      const isOld = object.resourceVersion <= after
      const isForeign = before?.value !== object.value && !asked.has(object.value)
      return [
        ...(isOld ? [`${at} has changed before ${after}`] : []),
        ...(isForeign ? [`${at} shows ${object.value}, which no client wrote`] : []),
      ]
    })
    present.clear()
    for (const [key, object] of state) {
      present.set(key, object)
      introduced.add(object.value)
    }
    return found
  }
}

/** In real time no revision goes back: of writes each is greater than all that were acknowledged before it was called. */
function checkOrder({ operations, lists }: History): string[] {
  const moments = [
    ...writes(operations).map(({ verb, key, call, return: end, output }) => {
      return { what: `${verb} ${key}`, call, end, revision: output.object!.resourceVersion, isWrite: true }
    }),
    ...lists.map(({ server, call, return: end, resourceVersion }) => {
      return { what: `list of ${server}`, call, end, revision: resourceVersion, isWrite: false }
    }),
  ]
  const violations: string[] = []
  const seen = new Map<number, string>()
  for (const { what, revision, isWrite } of moments) {
    if (!isWrite) continue
    if (seen.has(revision)) violations.push(`${what} and ${seen.get(revision)} have revision ${revision}`)
    seen.set(revision, what)
  }
  const byEnd = [...moments].sort((a, b) => a.end - b.end)
  let latest = { what: 'the start', revision: 0 }
  let next = 0
  for (const moment of [...moments].sort((a, b) => a.call - b.call)) {
    for (; next < byEnd.length && byEnd[next]!.end < moment.call; next++)
      if (byEnd[next]!.revision > latest.revision) latest = byEnd[next]!
    const { what, revision, isWrite } = moment
    const isBack = isWrite ? revision <= latest.revision : revision < latest.revision
    if (isBack) violations.push(`${what} has revision ${revision} after ${latest.what} had ${latest.revision}`)
  }
  return violations
}

/** A list is the state that the events give at its revision; what is within a gap nobody else knows. */
function checkList({ server, resourceVersion, items }: List, events: readonly Event[], gaps: readonly Gap[]): string[] {
  if (isIn(gaps, resourceVersion)) return []
  const from = gaps.findLast(({ to }) => to < resourceVersion)
  const wanted = new Map(from?.state)
  for (const { type, key, object } of events) {
    if (object.resourceVersion > resourceVersion) break
    if (from && object.resourceVersion <= from.to) continue
    if (type === 'DELETED') wanted.delete(key)
    else wanted.set(key, object)
  }
  const keys = new Set([...wanted.keys(), ...items.keys()])
  return [...keys].flatMap((key) => {
    const [is, must] = [items.get(key), wanted.get(key)]
    if (isDeepStrictEqual(is, must)) return []
    return [`the list of ${server} at ${resourceVersion} shows ${key} as ${shown(is)}, events as ${shown(must)}`]
  })
}

const shown = (seen: Seen | undefined): string => (seen ? `${seen.value} of ${seen.resourceVersion}` : 'absent')
