import { StatusError } from '../../shared/api/status/status-error.ts'
import { copy, equals, type JsonMap } from '../values/json-map.ts'
import { applyConflict, type Conflict } from './apply-conflict.ts'
import { lastAppliedFields, withLastApplied } from './apply-last-applied.ts'
import { prune } from './apply-prune.ts'
import { encodedFields } from './encoded-fields.ts'
import {
  capUpdateManagers,
  encodeEntries,
  fieldsOf,
  isReset,
  isSameManager,
  type ManagedFieldsEntry,
  makeEncodedEntry,
  makeEntry,
  parseEntries,
  storedEntries,
} from './managed-fields.ts'
import { convertObject, type ManagedKind, ownableType, typeIn } from './managed-kind.ts'
import { compare } from './structured-merge/compare.ts'
import { beyondZero } from './structured-merge/everything.ts'
import { fieldSet } from './structured-merge/field-set.ts'
import {
  difference,
  exclude,
  type FieldsV1,
  fieldPaths,
  intersection,
  isEmpty,
  noFields,
  union,
} from './structured-merge/fields.ts'
import { merge } from './structured-merge/merge.ts'
import { schemaErrors } from './structured-merge/validate.ts'

/** Holds the manager, endpoint and time of a write. */
export interface FieldWrite {
  /** Names the manager: the parameter `fieldManager`, else the User-Agent. */
  manager: string
  subresource?: string
  /** Holds the time in RFC 3339, in whole seconds. */
  time: string
}

type WithMeta = JsonMap & { metadata?: JsonMap }

/**
 * Sets `managedFields` of an object that is about to be stored by create, update or a patch other than apply.
 * `live` is what is stored now; undefined for a create. Both are in the version of `kind`, with defaults.
 */
export function updateManagedFields(
  kind: ManagedKind,
  live: WithMeta | undefined,
  object: WithMeta,
  write: FieldWrite,
): void {
  const entries = updatedEntries(kind, live, object, currentEntries(live, object, write), write)
  setEntries(object, entries)
}

function setEntries(object: WithMeta, entries: ManagedFieldsEntry[]): void {
  object.metadata ??= {}
  const { metadata } = object
  const encoded = encodeEntries(entries)
  if (encoded) metadata.managedFields = encoded
  else delete metadata.managedFields
}

/**
 * The client's entries if it sent any that make sense, else the stored ones; a subresource never takes the client's.
 */
function currentEntries(live: WithMeta | undefined, object: WithMeta, write: FieldWrite): ManagedFieldsEntry[] {
  const stored = storedEntries(live?.metadata?.managedFields)
  const sent = object.metadata?.managedFields
  if (write.subresource || sent === undefined) return stored
  if (isReset(sent)) return []
  if (equals(sent, stored)) return stored
  const entries = parseEntries(sent)
  return entries && entries.length > 0 ? entries : stored
}

/** Entries after an update by `write.manager`: it is the only owner of what it changed. */
function updatedEntries(
  kind: ManagedKind,
  live: WithMeta | undefined,
  object: WithMeta,
  entries: ManagedFieldsEntry[],
  write: FieldWrite,
): ManagedFieldsEntry[] {
  if (entries.length === 0 && live) return entries // not tracked: the first apply begins it
  const changesIn = live ? changesByVersion(kind, live, object, write) : creation(kind, object, write)
  const { taken, removed } = changesIn(kind.apiVersion)!
  if (isEmpty(taken)) return capUpdateManagers(withoutChanged(entries, changesIn))
  const own = {
    manager: write.manager,
    operation: 'Update',
    apiVersion: kind.apiVersion,
    subresource: write.subresource,
  }
  if (!live && entries.length === 0) return [makeEncodedEntry({ ...own, time: write.time }, encodedFields(taken))]
  const previous = entries.find((entry) => isSameManager(entry, own))
  const others = previous ? entries.filter((entry) => entry !== previous) : entries
  const mine = previous
    ? withChanges(previous, { taken, removed }, write)
    : makeEntry({ ...own, time: write.time }, taken)
  return capUpdateManagers([...withoutChanged(others, changesIn), mine])
}

/** The writer's entry: mostly it wrote again what it had written before. */
function withChanges(
  entry: ManagedFieldsEntry,
  { taken, removed }: Omit<Changes, 'lost'>,
  { time }: FieldWrite,
): ManagedFieldsEntry {
  const fields = fieldsOf(entry)
  const isSame = isEmpty(difference(taken, fields)) && isEmpty(intersection(removed, fields))
  return isSame && time && entry.time
    ? { ...entry, time }
    : makeEntry({ ...entry, time }, union(taken, difference(fields, removed)))
}

/** Holds what a write did to fields, in one version of the kind. */
interface Changes {
  /** Set or changed: the writer's from now on. */
  taken: FieldsV1
  removed: FieldsV1
  /** The union of both: what others own no longer. */
  lost: FieldsV1
}
type ChangesIn = (apiVersion: string) => Changes | undefined

/** Everything is new in an object that did not exist. */
function creation(kind: ManagedKind, object: JsonMap, { subresource }: FieldWrite): ChangesIn {
  const taken = exclude(beyondZero(ownableType(kind.type), object), kind.resetFields(subresource))
  const changes = { taken, removed: noFields, lost: taken }
  return (apiVersion) => (apiVersion === kind.apiVersion ? changes : undefined)
}

/** Compares in the version of the kind, and in those that entries were written in when they are asked for. */
function changesByVersion(kind: ManagedKind, live: JsonMap, object: JsonMap, write: FieldWrite): ChangesIn {
  const reset = kind.resetFields(write.subresource)
  const known = new Map<string, Changes | undefined>()
  const changesIn: ChangesIn = (apiVersion) => {
    const type = typeIn(kind, apiVersion)
    if (!type) return undefined
    const versioned = (value: JsonMap) =>
      convertObject(kind, value, kind.apiVersion, apiVersion, 'failed to convert new object: ')
    const { added, modified, removed } = compare(ownableType(type), versioned(live), versioned(object))
    const taken = exclude(union(added, modified), reset)
    const gone = exclude(removed, reset)
    return { taken, removed: gone, lost: union(taken, gone) }
  }
  return (apiVersion) => {
    if (!known.has(apiVersion)) known.set(apiVersion, changesIn(apiVersion))
    return known.get(apiVersion)
  }
}

/** Returns what managers still own: nothing that changed or went, and no entry of a version that is not served. */
function withoutChanged(entries: ManagedFieldsEntry[], changesIn: ChangesIn): ManagedFieldsEntry[] {
  return entries.flatMap((entry) => {
    const changes = changesIn(entry.apiVersion ?? '')
    if (!changes) return []
    const fields = fieldsOf(entry)
    if (isEmpty(intersection(fields, changes.lost))) return isEmpty(fields) ? [] : [entry]
    const kept = difference(fields, changes.lost)
    return isEmpty(kept) ? [] : [makeEntry(entry, kept)]
  })
}

export interface ApplyRequest extends FieldWrite {
  force: boolean
  /** The most that the causes of a conflict may have together. */
  maxCauseBytes: number
}
/**
 * Server-side apply: the live object (undefined: none yet) with the configuration laid over it, without what the
 * manager applied before and speaks of no more, and with the managers' fields brought up to date.
 * Throws the 409 that names every field of others it would change, unless `force`.
 */
export function apply(
  kind: ManagedKind,
  live: WithMeta | undefined,
  config: WithMeta,
  request: ApplyRequest,
): WithMeta {
  checkConfig(kind, config)
  const { apiVersion: _, kind: __, ...fields } = config
  const stored = live ? withoutManagedFields(live) : undefined
  const entries = storedEntries(live?.metadata?.managedFields)
  const owned = entries.length === 0 && stored ? beforeFirstApply(kind, stored, request) : entries

  let outcome = applyTo(kind, stored ?? {}, fields, owned, request)
  if (outcome.conflicts.length > 0 && request.manager === 'kubectl' && stored) {
    const handedOver = lastAppliedFields(kind, stored)
    if (handedOver && outcome.conflicts.every(({ fields: lost }) => isEmpty(difference(lost, handedOver)))) {
      outcome = applyTo(kind, stored, fields, owned, { ...request, force: true })
    } else if (handedOver) {
      outcome.conflicts = outcome.conflicts.flatMap(({ entry, fields: lost }) => {
        const refused = difference(lost, handedOver)
        return isEmpty(refused) ? [] : [{ entry, fields: refused }]
      })
    }
  }
  if (outcome.conflicts.length > 0) throw applyConflict(outcome.conflicts, request.maxCauseBytes)

  const object = request.manager === 'kubectl' ? withLastApplied(outcome.object, config) : outcome.object
  setEntries(object, outcome.entries)
  return object
}

function checkConfig(kind: ManagedKind, config: WithMeta): void {
  if (config.metadata?.managedFields !== undefined && config.metadata.managedFields !== null) {
    throw new StatusError({ code: 400, reason: 'BadRequest', message: 'metadata.managedFields must be nil' })
  }
  const errors = schemaErrors(kind.type, config)
  if (errors.length === 0) return
  const text = errors.length === 1 ? errors[0] : `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`
  throw new StatusError({
    code: 500,
    message: `failed to create typed patch object (${describe(kind, config)}): ${text}`,
  })
}

/** An object in Go's words: `ns/name; apps/v1, Kind=Deployment`. */
function describe(kind: ManagedKind, { metadata }: WithMeta): string {
  const version = kind.apiVersion.includes('/') ? kind.apiVersion : `/${kind.apiVersion}`
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  return `${text(metadata?.namespace)}/${text(metadata?.name)}; ${version}, Kind=${kind.kind}`
}

function withoutManagedFields(object: WithMeta): WithMeta {
  const { managedFields: _, ...metadata } = object.metadata ?? {}
  return { ...object, metadata }
}

/** An object without managedFields: all of it belongs to `before-first-apply`. */
const beforeFirstApply = (kind: ManagedKind, stored: JsonMap, write: FieldWrite): ManagedFieldsEntry[] =>
  updatedEntries(kind, undefined, stored, [], { ...write, manager: 'before-first-apply' })

/** The field that the owner of an empty `metadata` owns. */
const metadataItself = fieldPaths('metadata')

interface Outcome {
  object: WithMeta
  entries: ManagedFieldsEntry[]
  conflicts: Conflict[]
}

function applyTo(
  kind: ManagedKind,
  live: JsonMap,
  config: JsonMap,
  entries: ManagedFieldsEntry[],
  request: ApplyRequest,
): Outcome {
  const own = {
    manager: request.manager,
    operation: 'Apply',
    apiVersion: kind.apiVersion,
    subresource: request.subresource,
  }
  // Upstream first brings the live object into every version that has an entry; an object that does not fit is refused.
  for (const { apiVersion = '' } of entries) convertObject(kind, live, kind.apiVersion, apiVersion)
  const previous = entries.find((entry) => isSameManager(entry, own))
  const others = entries.filter((entry) => entry !== previous)
  const type = ownableType(kind.type)
  const set = difference(exclude(fieldSet(type, config), kind.resetFields(request.subresource)), metadataItself)
  const merged = merge(kind.type, live, config)
  const object = previous ? prune(kind, merged, previous, fieldSet(kind.type, config), others) : merged
  const changesIn = changesByVersion(kind, live, object, request)
  const conflicts = request.force ? [] : conflictsWith(others, changesIn)
  const unchanged = equals(live, object)
  const rest = conflicts.length > 0 ? others : withoutChanged(others, changesIn)
  if (!isEmpty(set)) rest.push(makeEntry({ ...own, time: unchanged ? previous?.time : request.time }, set))
  return { object: (unchanged ? copy(live) : object) as WithMeta, entries: rest, conflicts }
}

function conflictsWith(entries: ManagedFieldsEntry[], changesIn: ChangesIn): Conflict[] {
  return entries.flatMap((entry) => {
    const fields = intersection(fieldsOf(entry), changesIn(entry.apiVersion ?? '')?.taken ?? noFields)
    return isEmpty(fields) ? [] : [{ entry, fields }]
  })
}
