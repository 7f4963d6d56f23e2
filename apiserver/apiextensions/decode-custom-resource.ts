import { asUntyped } from '../../shared/api/json/exact-json.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { applyDefaults, type ForbiddenNulls, maxDefaultBytes } from '../schema/defaulting.ts'
import type { JSONSchemaProps, JsonObject } from '../schema/json-schema.ts'
import { prune } from '../schema/pruning.ts'
import { type Decoded, DecodeError } from '../validation/decoder.ts'
import { firstErrors } from '../validation/strict-errors.ts'
import { decodeEmbedded, decodeMetadata } from './object-meta.ts'

/**
 * Returns a parsed body as an object of the version: pruned, defaulted, with typed metadata. May change the body.
 * Throws DecodeError.
 */
export function decodeCustomResource(body: JsonObject, schema: JSONSchemaProps, nulls?: ForbiddenNulls): Decoded {
  const { kind: _kind, apiVersion: _apiVersion, metadata: source, ...fields } = asUntyped(body)
  const { metadata, strictErrors } = decodeMetadata(source, 'metadata')
  const pruned = firstErrors(prune(fields, schema, { root: true }))
  const unknown = pruned.map((path) => `unknown field ${JSON.stringify(path)}`)
  const embedded = decodeEmbedded(fields, schema)
  if (!applyDefaults(fields, withoutMeta(schema), nulls))
    throw Object.assign(
      new DecodeError(`the defaults of its schema would add more than ${maxDefaultBytes} bytes to the object`),
      { limit: 'schemaDefaults' },
    )
  const object: KubeObject = { metadata, ...fields }
  return { object, strictErrors: [...strictErrors, ...unknown, ...embedded] }
}

const cache = new WeakMap<JSONSchemaProps, JSONSchemaProps>()
/** The schema of everything but what each object has anyway: no default is made for those. */
function withoutMeta(schema: JSONSchemaProps): JSONSchemaProps {
  const known = cache.get(schema)
  if (known !== undefined) return known
  if (schema.properties === undefined) return schema
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...properties } = schema.properties
  const rest = { ...schema, properties }
  cache.set(schema, rest)
  return rest
}
