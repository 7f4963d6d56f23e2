import { isDeepStrictEqual } from 'node:util'
import type { Event, History, List, Operation, Seen } from './history.ts'

/** What must be true of a history beside the linearizability of each object; in words, what is not. Pure functions. */
export function checkHistory(history: History, streams: readonly (readonly Event[])[]): string[] {
  const mine = streams.map((events) => events.filter(({ namespace }) => namespace === history.namespace))
  const { events, violations } = merged(mine)
  return [
    ...violations,
    ...checkEvents(events, history.operations),
    ...checkOrder(history),
    ...history.lists.flatMap((list) => checkList(list, events)),
  ].map((what) => `${history.namespace}: ${what}`)
}

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
function merged(streams: readonly (readonly Event[])[]): { events: Event[]; violations: string[] } {
  const violations: string[] = []
  const all = new Map<number, Event>()
  for (const event of streams.flat()) {
    const { resourceVersion } = event.object
    const known = all.get(resourceVersion)
    if (known && !isDeepStrictEqual(known, event))
      violations.push(`two events at ${resourceVersion}: ${event.key}, ${known.key}`)
    all.set(resourceVersion, event)
  }
  for (const [index, stream] of streams.entries()) {
    const own = new Set(stream.map(({ object }) => object.resourceVersion))
    for (const [resourceVersion, { type, key }] of all)
      if (!own.has(resourceVersion)) violations.push(`watch ${index} lacks ${type} ${key} of ${resourceVersion}`)
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

function checkEvents(events: readonly Event[], operations: readonly Operation[]): string[] {
  const violations: string[] = []
  const byRevision = new Map(events.map((event) => [event.object.resourceVersion, event]))
  for (const { verb, key, input, output } of writes(operations)) {
    const event = byRevision.get(output.object!.resourceVersion)
    if (event?.object.value === input.value && event?.key === key) continue
    violations.push(`no event of the acknowledged ${verb} of ${input.value} at ${output.object!.resourceVersion}`)
  }
  const asked = new Set(operations.map(({ input }) => input.value))
  const introduced = new Set<string>()
  const present = new Map<string, Seen>()
  for (const { type, key, object } of events) {
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

/** A list is the state that the events give at its revision. */
function checkList({ server, resourceVersion, items }: List, events: readonly Event[]): string[] {
  const wanted = new Map<string, Seen>()
  for (const { type, key, object } of events) {
    if (object.resourceVersion > resourceVersion) break
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
