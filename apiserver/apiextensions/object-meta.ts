import { parseExact, toJson } from '../../shared/api/json/exact-json.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import {
  additionalOf,
  isObject,
  itemsOf,
  type JSONSchemaProps,
  type JsonObject,
  ownProperty,
} from '../schema/json-schema.ts'
import { mentions } from '../schema/mentions.ts'
import { DecodeError, decodeStruct } from '../validation/decoder.ts'
import { invalid, required } from '../validation/field-error.ts'
import type { FieldError } from '../validation/field-errors.ts'
import { dns1035Label, dns1123Label, pathSegmentName } from '../validation/names.ts'
import { validateObjectMeta } from '../validation/object-meta.ts'

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

/**
 * Decodes metadata in place into its API type. Drops unknown fields and returns an error for each. Throws {@link
 * DecodeError}.
 */
export function decodeMetadata(value: unknown, path: string): { metadata: ObjectMeta; strictErrors: string[] } {
  const decoded = decodeStruct<ObjectMeta>(OBJECT_META, value ?? {})
  const { name, ...rest } = decoded.value
  return {
    metadata: { name, ...rest },
    strictErrors: decoded.strictErrors.map((text) => text.replace('field "', `field "${path}.`)),
  }
}

/** A resource embedded in another, and where. */
interface Embedded {
  object: JsonObject
  path: string
}

/** All embedded resources of a value, outermost first. */
function embeddedIn(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path: string,
  found: Embedded[] = [],
): Embedded[] {
  if (schema === undefined || !mentions(schema, 'x-kubernetes-embedded-resource')) return found
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    for (const [index, item] of value.entries()) embeddedIn(item, items, `${path}[${index}]`, found)
  }
  if (!isObject(value)) return found
  if (schema['x-kubernetes-embedded-resource'] === true) found.push({ object: value, path })
  const additional = additionalOf(schema)
  for (const [key, field] of Object.entries(value)) {
    const child = ownProperty(schema.properties, key) ?? additional
    embeddedIn(field, child, path === '' ? key : `${path}.${key}`, found)
  }
  return found
}

/** Decodes the metadata of embedded resources in place. Returns strict errors; throws {@link DecodeError}. */
export function decodeEmbedded(object: JsonObject, schema: JSONSchemaProps): string[] {
  return embeddedIn(object, schema, '').flatMap(({ object: embedded, path }) => {
    if (embedded.metadata === undefined) return []
    const at = `${path}.metadata`
    try {
      const { metadata, strictErrors } = decodeMetadata(structuredClone(embedded.metadata), at)
      embedded.metadata = parseExact(toJson(metadata)) as ObjectMeta
      return strictErrors
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      throw new DecodeError(`${at}: Invalid value: ${toJson(embedded.metadata)}: ${error.message}`)
    }
  })
}

/** Validates embedded resources: each must have apiVersion and kind, and valid metadata. */
export function validateEmbedded(object: JsonObject, schema: JSONSchemaProps): FieldError[] {
  return embeddedIn(object, schema, '').flatMap(({ object: { apiVersion, kind, metadata }, path }) => [
    ...validateApiVersion(apiVersion, `${path}.apiVersion`),
    ...validateKind(kind, `${path}.kind`),
    ...(isObject(metadata) ? validateMetadata(metadata as ObjectMeta, `${path}.metadata`) : []),
  ])
}

/** A name and a namespace may be missing. */
function validateMetadata(metadata: ObjectMeta, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { namespace = '', name = 'unnamed' } = metadata
  if (namespace)
    for (const message of dns1123Label(namespace)) errors.push(invalid(`${path}.namespace`, namespace, message))
  const options = { namespaced: namespace !== '', validateName: pathSegmentName, unqualifiedFinalizers: true }
  validateObjectMeta({ ...metadata, name: name || 'unnamed' }, options, errors, path)
  return errors
}

function validateApiVersion(apiVersion: unknown, path: string): FieldError[] {
  if (apiVersion === undefined) return [required(path)]
  if (typeof apiVersion !== 'string') return []
  if (apiVersion === '') return [invalid(path, apiVersion, 'must not be empty')]
  return apiVersion.split('/').length > 2
    ? [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
    : []
}
function validateKind(kind: unknown, path: string): FieldError[] {
  if (kind === undefined) return [required(path)]
  if (typeof kind !== 'string') return []
  if (kind === '') return [invalid(path, kind, 'must not be empty')]
  const messages = dns1035Label(kind.toLowerCase())
  return messages.length > 0
    ? [invalid(path, kind, `may have mixed case, but should otherwise match: ${messages.join(',')}`)]
    : []
}
