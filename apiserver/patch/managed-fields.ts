import { toJson } from '../../shared/api/json/exact-json.ts'
import { knownJson } from '../values/recurring.ts'
import type { EncodedFields } from './encoded-fields.ts'
import { type FieldsV1, isEmpty, isFields, noFields, sorted, unionAll } from './structured-merge/fields.ts'

const fieldsText = Symbol('JSON of fieldsV1')

/** An entry of `metadata.managedFields` says which fields a manager owns, through which operation. */
export interface ManagedFieldsEntry {
  manager?: string
  operation?: string
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: FieldsV1
  subresource?: string
  /** The JSON of `fieldsV1`, when it is known. */
  [fieldsText]?: string
}

/** If there are more entries of Update operations, the oldest are merged. */
const maxUpdateManagers = 10
const ancientChanges = 'ancient-changes'

export const storedEntries = (managedFields: unknown): ManagedFieldsEntry[] =>
  lastOfEach((managedFields ?? []) as ManagedFieldsEntry[])

/** Upstream keeps entries by manager: of two of one manager, which a write of a scale can leave, it reads the last. */
function lastOfEach(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  if (entries.length < 2) return entries
  const last = new Map(entries.map((entry) => [managerOf(entry), entry]))
  return last.size === entries.length ? entries : entries.filter((entry) => last.get(managerOf(entry)) === entry)
}

/** Returns the same text for two entries if `isSameManager` holds for them. */
const managerOf = ({ manager = '', operation, subresource = '', apiVersion }: ManagedFieldsEntry): string =>
  JSON.stringify([manager, operation, subresource, operation === 'Apply' ? '' : apiVersion])

/** The entries that a client sent; undefined when they are not what a server could have written. */
export function parseEntries(managedFields: unknown): ManagedFieldsEntry[] | undefined {
  if (!Array.isArray(managedFields)) return undefined
  const entries = managedFields as ManagedFieldsEntry[]
  return entries.every(isEntry) ? lastOfEach(entries) : undefined
}

const isEntry = ({ operation, apiVersion, fieldsType, fieldsV1 }: ManagedFieldsEntry): boolean =>
  (operation === 'Apply' || operation === 'Update') &&
  apiVersion !== undefined &&
  apiVersion !== '' &&
  fieldsType === 'FieldsV1' &&
  (fieldsV1 === undefined || isFields(fieldsV1))

/** A client's way to remove all ownership: `[]` or `[{}]`. */
export function isReset(managedFields: unknown): boolean {
  if (!Array.isArray(managedFields)) return false
  return managedFields.length === 0 || (managedFields.length === 1 && isEmpty(managedFields[0] as FieldsV1))
}

/**
 * Returns whether a body asks to remove all ownership. Must be called before the body is decoded, which drops empty
 * lists.
 */
export const resetsManagedFields = (body: unknown): boolean =>
  isReset((body as { metadata?: { managedFields?: unknown } | null } | null)?.metadata?.managedFields)

export const fieldsOf = (entry: ManagedFieldsEntry): FieldsV1 => entry.fieldsV1 ?? noFields

/**
 * Returns whether two entries must be one: they have the same manager, operation and subresource, and for an Update the
 * same version.
 */
export const isSameManager = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): boolean =>
  (a.manager ?? '') === (b.manager ?? '') &&
  a.operation === b.operation &&
  (a.subresource ?? '') === (b.subresource ?? '') &&
  (a.operation === 'Apply' || a.apiVersion === b.apiVersion)

/** The entries as they are stored: capped and in order; undefined for none. */
export function encodeEntries(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] | undefined {
  return entries.length === 0 ? undefined : entries.sort(compareEntries)
}

/** Apply before Update, then by time, then by name. */
const compareEntries = (a: ManagedFieldsEntry, b: ManagedFieldsEntry): number =>
  order(a.operation, b.operation) ||
  order(a.time, b.time) ||
  order(a.manager, b.manager) ||
  order(a.apiVersion, b.apiVersion) ||
  order(a.subresource, b.subresource)
const order = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

/** An entry with its keys in the order the API shows them. */
export function makeEntry(
  entry: Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion' | 'time' | 'subresource'>,
  fields: FieldsV1,
): ManagedFieldsEntry {
  const { manager, operation, apiVersion, time, subresource } = entry
  const out: ManagedFieldsEntry = { manager: manager ?? '', operation: operation ?? '', apiVersion: apiVersion ?? '' }
  if (time) out.time = time
  out.fieldsType = 'FieldsV1'
  out.fieldsV1 = sorted(fields)
  if (subresource) out.subresource = subresource
  return out
}

/** As {@link makeEntry}, of fields whose JSON is known. */
export function makeEncodedEntry(
  entry: Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion' | 'time' | 'subresource'>,
  { fields, text }: EncodedFields,
): ManagedFieldsEntry {
  const out = makeEntry(entry, noFields)
  out.fieldsV1 = fields
  out[fieldsText] = text
  return out
}

/** Encodes an entry as JSON: its set of fields, and what is before and after it. */
export function entryPieces(entry: ManagedFieldsEntry): { before: string; fields: string; after: string } {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry
  const head = { manager, operation, apiVersion, time, fieldsType }
  if (fieldsV1 === undefined) return { before: JSON.stringify({ ...head, subresource }), fields: '', after: '' }
  const before = JSON.stringify(head)
  const fields = entry[fieldsText] ?? knownJson(fieldsV1) ?? toJson(fieldsV1)
  return { before: `${before.slice(0, -1)}${before === '{}' ? '' : ','}"fieldsV1":`, fields, after: endOf(subresource) }
}

const endOf = (subresource: string | undefined): string =>
  subresource ? `,"subresource":${JSON.stringify(subresource)}}` : '}'

/** Too many updaters: the oldest of each version become one entry. */
export function capUpdateManagers(entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  const updaters = entries.filter((entry) => entry.operation === 'Update')
  let excess = updaters.length - maxUpdateManagers
  if (excess <= 0) return entries
  updaters.sort((a, b) => order(a.time, b.time) || order(identifier(a), identifier(b)))
  const buckets = new Map<string, ManagedFieldsEntry[]>()
  for (const entry of updaters) {
    if (excess <= 0) break
    const version = entry.apiVersion ?? ''
    const bucket = buckets.get(version)
    if (!bucket) buckets.set(version, [entry])
    else {
      bucket.push(entry)
      excess--
    }
  }
  const merged = [...buckets.values()].filter((bucket) => bucket.length > 1)
  const gone = new Set(merged.flat())
  return [...entries.filter((entry) => !gone.has(entry)), ...merged.map(mergeBucket)]
}

function mergeBucket(bucket: ManagedFieldsEntry[]): ManagedFieldsEntry {
  const { apiVersion, time } = bucket.at(-1)!
  const fields = unionAll(bucket.map(fieldsOf))
  return makeEntry({ manager: ancientChanges, operation: 'Update', apiVersion, time }, fields)
}

/** Returns the entry's identity as JSON, which orders entries of one second, and managers in messages. */
export function identifier({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const version = operation === 'Apply' ? {} : { apiVersion }
  return JSON.stringify({ manager, operation, ...version, ...(subresource && { subresource }) })
}
