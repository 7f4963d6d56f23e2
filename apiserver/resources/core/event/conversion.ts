/** Between core Events, which are stored, and those of events.k8s.io, which have other names for the same. */
import { parseStored } from '../../../../shared/api/json/exact-json.ts'
import type { Event, KubeObject, ObjectMeta } from '../../../../shared/api/types.ts'
import { encodeObject } from '../../../kind/encode-object.ts'

export interface NewEvent {
  metadata: ObjectMeta
  eventTime?: string | null
  reason?: string
  type?: string
  note?: string
  regarding?: Event['involvedObject']
  reportingController?: string
  [field: string]: unknown
}

/** Name in events.k8s.io, name in the core group, and what stands there when nothing is said. */
const names: [string, string, { newer?: unknown; core?: unknown }][] = [
  ['note', 'message', {}],
  ['regarding', 'involvedObject', { newer: {}, core: {} }],
  ['deprecatedSource', 'source', { newer: {}, core: {} }],
  ['deprecatedFirstTimestamp', 'firstTimestamp', { newer: null, core: null }],
  ['deprecatedLastTimestamp', 'lastTimestamp', { newer: null, core: null }],
  ['deprecatedCount', 'count', {}],
  ['reportingController', 'reportingComponent', { core: '' }],
  ['reportingInstance', 'reportingInstance', { core: '' }],
  ['eventTime', 'eventTime', { newer: null, core: null }],
]
const toCoreNames = new Map(names.map(([newer, core]) => [newer, core]))
const toNewNames = new Map(names.map(([newer, core]) => [core, newer]))

function renamed(object: object, to: Map<string, string>, filled: [string, unknown][]): Record<string, unknown> {
  const result = Object.fromEntries(Object.entries(object).map(([name, value]) => [to.get(name) ?? name, value]))
  for (const [name, value] of filled) {
    if (result[name] === undefined || result[name] === '') result[name] = value
  }
  return result
}
const coreFilled = names.map(([, core, empty]): [string, unknown] => [core, empty.core])
const newFilled = names.map(([newer, , empty]): [string, unknown] => [newer, empty.newer])

export const toCore = (event: NewEvent): Event => renamed(event, toCoreNames, coreFilled) as unknown as Event
const toNew = (event: Event): NewEvent => renamed(event, toNewNames, newFilled) as unknown as NewEvent

export const newEventConversion = {
  storageGroup: '',
  present: ({ value }: { value: string }): string =>
    encodeObject(toNew(parseStored(value) as Event) as unknown as KubeObject),
  toStorage(object: KubeObject): void {
    const core = toCore(object as unknown as NewEvent) as unknown as KubeObject
    for (const name of Object.keys(object)) if (!(name in core)) delete object[name]
    Object.assign(object, core)
  },
}
