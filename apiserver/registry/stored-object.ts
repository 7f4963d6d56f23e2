import { parseStored } from '../../shared/api/json/exact-json.ts'
import { requestEntityTooLarge } from '../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { encodePieces } from '../kind/encode-object.ts'
import type { ConversionWebhook, ResourceDefinition, VersionConversion } from '../kind/resource-definition.ts'
import { withoutStorageVersion, withStorageVersion } from '../kind/storage-version.ts'
import { Unconverted } from '../kind/unconverted.ts'
import { joined } from '../storage/packed-text.ts'
import { deepEqual } from '../values/deep-equal.ts'
import { copy } from '../values/json-map.ts'
import { decodeParts } from '../watchcache/decode-parts.ts'

/**
 * An object as the store has it: JSON without kind, apiVersion and resourceVersion, beginning with
 * `{"metadata":{"name":`.
 */
export interface StoredObject {
  readonly value: string
  /** The revision of the object's last write; undefined for an object that a dry run would have created. */
  readonly revision: number | undefined
  /**
   * The parts whose concatenation is the value; the first contains at least its beginning. Present where the value is
   * stored in parts.
   */
  readonly parts?: readonly string[]
}

/** The JSON of an object that is to be stored, and what it is joined from if that is known. */
export type Encoded = Pick<StoredObject, 'value' | 'parts'>

const beginning = '{"metadata":{'

/**
 * Returns the conversion between a definition's version and the stored version; undefined for most definitions, which
 * need no conversion.
 */
export const conversionOf = ({ custom, conversion }: ResourceDefinition): VersionConversion | undefined =>
  custom ?? conversion

/**
 * Encodes an object as {@link encodeForStorage} does. Returns a promise where a webhook converts; the promise rejects
 * with a StatusError when the webhook fails.
 */
export function encodeWrite(
  definition: ResourceDefinition,
  object: KubeObject,
  maxBytes: number,
): Encoded | Promise<Encoded> {
  const webhook = definition.custom?.webhook
  return webhook
    ? encodeConverted(definition, webhook, object, maxBytes)
    : encodeForStorage(definition, object, maxBytes)
}

async function encodeConverted(
  definition: ResourceDefinition,
  webhook: ConversionWebhook,
  object: KubeObject,
  maxBytes: number,
): Promise<Encoded> {
  await webhook.toStorage(object)
  const encoded = encodeVersioned(definition, object, maxBytes)
  await webhook.announce(encoded.value)
  return encoded
}

/**
 * Encodes an object as it is stored: a custom resource in the form of its storage version, whatever version it came
 * through. Throws a StatusError (413) for a value of more than `maxBytes`.
 */
export function encodeForStorage(
  definition: ResourceDefinition,
  object: KubeObject,
  maxBytes = Number.POSITIVE_INFINITY,
): Encoded {
  conversionOf(definition)?.toStorage(object)
  return encodeVersioned(definition, object, maxBytes)
}

/** Encodes an object. The value of a custom resource contains its storage version, since its definition may change. */
function encodeVersioned(
  { custom, storageVersion }: ResourceDefinition,
  object: KubeObject,
  maxBytes: number,
): Encoded {
  const pieces = encodePieces(object)
  const value = joined(pieces)
  if (value.length > maxBytes)
    throw requestEntityTooLarge(
      `the object would have ${value.length} bytes as it is stored: limit is ${maxBytes}`,
    ).atLimit('storedObject')
  return custom && storageVersion !== undefined
    ? { value: withStorageVersion(value, storageVersion) }
    : { value, parts: pieces }
}

/** Returns the stored object in the form of the definition's version. Throws the reason if it cannot be converted. */
export function asShown(definition: ResourceDefinition, stored: StoredObject): StoredObject {
  const conversion = conversionOf(definition)
  if (!conversion) return stored
  const { value, revision } = stored
  const shown = conversion.present({ value, revision: revision ?? Number.POSITIVE_INFINITY })
  if (shown instanceof Unconverted) throw shown.why
  return { value: shown ?? (definition.custom ? withoutStorageVersion(value) : value), revision }
}

/**
 * Decodes a stored value with its resourceVersion. The caller may change the object, except for its spec where that is
 * shared.
 */
export function decodeStored({ value, parts, revision }: StoredObject, sharesSpec?: boolean): KubeObject {
  const object = (parts ? decodeParts(parts, sharesSpec) : parseStored(value)) as KubeObject
  if (revision !== undefined) object.metadata.resourceVersion = String(revision)
  return object
}

/**
 * Returns a copy that the caller may change, except for the sets of fields: they are half of most objects, so copies
 * share them, and they are only ever replaced. Members that `isKept` names are shared as well.
 */
export function copyDecoded(object: KubeObject, isKept?: (member: string) => boolean): KubeObject {
  const { managedFields, resourceVersion, ...metadata } = object.metadata
  const out: KubeObject = { ...object, metadata: copy(metadata) }
  for (const member in out) if (member !== 'metadata' && !isKept?.(member)) out[member] = copy(out[member])
  if (managedFields) out.metadata.managedFields = managedFields.map((entry) => ({ ...(entry as object) }))
  out.metadata.resourceVersion = resourceVersion
  return out
}

/**
 * Returns the parts whose concatenation is the JSON that clients see. `head` is the text before the metadata, e.g.
 * `{"kind":"Pod","apiVersion":"v1",`.
 */
export function shownParts(head: string, stored: StoredObject, revision = stored.revision): string[] {
  const metadata = revision === undefined ? '"metadata":{' : `"metadata":{"resourceVersion":"${revision}",`
  const { parts } = stored
  const first = parts ? parts[0]! : stored.value
  const shown = [head + metadata, first.slice(beginning.length)]
  for (let index = 1; parts && index < parts.length; index++) shown.push(parts[index]!)
  return shown
}

/** Returns the JSON that clients see as one text. */
export const spliceHead = (head: string, stored: StoredObject, revision?: number): string =>
  joined(shownParts(head, stored, revision))

/** Returns the text before the metadata of an object that has its kind and apiVersion. */
export const typeHead = ({ group, version, kind }: { group: string; version: string; kind: string }): string =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":"${group ? `${group}/` : ''}${version}",`

/** Returns whether a write would change nothing. The order of keys does not count; neither do kind and apiVersion. */
export function sameObject(one: KubeObject, other: KubeObject): boolean {
  const untyped = { kind: undefined, apiVersion: undefined }
  return deepEqual({ ...one, ...untyped }, { ...other, ...untyped })
}
