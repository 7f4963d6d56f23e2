import type { JsonMap } from '../values/json-map.ts'
import type { FieldsV1 } from './structured-merge/fields.ts'
import type { Type } from './structured-merge/schema.ts'

/** A kind in one version, as field management sees it. */
export interface ManagedKind {
  /** `apps/v1`. */
  apiVersion: string
  kind: string
  type: Type
  /** Fields that writes through an endpoint ignore, so that no manager owns them there. */
  resetFields(subresource: string | undefined): FieldsV1
  /**
   * Finds the other versions of the kind, for entries that were written through them. Without it the kind has one
   * version.
   */
  versions?: KindVersions
}
/**
 * Thrown when something in an object of one version cannot be expressed in another; the message is that of the field.
 */
export class ConversionError extends Error {}

export interface KindVersions {
  /** Returns the type of the version; undefined if the kind has no such version. */
  type(apiVersion: string): Type | undefined
  /** Throws {@link ConversionError}. */
  convert(object: JsonMap, from: string, to: string): JsonMap
}

/** The type in a version of the kind; undefined when there is no such version. */
export const typeIn = (kind: ManagedKind, apiVersion: string): Type | undefined =>
  apiVersion === kind.apiVersion ? kind.type : kind.versions?.type(apiVersion)

/** Throws {@link ConversionError} with a message that begins with `failure`. */
export function convertObject(kind: ManagedKind, object: JsonMap, from: string, to: string, failure = ''): JsonMap {
  if (from === to || !kind.versions) return object
  try {
    return kind.versions.convert(object, from, to)
  } catch (error) {
    throw error instanceof ConversionError ? new ConversionError(failure + error.message) : error
  }
}

/** Never owned by a manager. */
const unowned = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
  'reason',
])

const ownable = new WeakMap<Type, Type>()
/** The type of whole objects without what the server alone keeps. */
export function ownableType(type: Type): Type {
  let out = ownable.get(type)
  if (!out) {
    const { apiVersion: _, kind: __, metadata, ...fields } = Object.fromEntries(type.map!.fields)
    const map = { ...type.map!, fields: new Map(Object.entries(fields)) }
    if (metadata) {
      const kept = [...metadata.type.map!.fields].filter(([name]) => !unowned.has(name))
      map.fields.set('metadata', {
        ...metadata,
        type: { map: { ...metadata.type.map!, fields: new Map(kept) } },
        zero: {},
      })
    }
    out = { map }
    ownable.set(type, out)
  }
  return out
}
