import { defaultResetFields } from '../kind/reset-fields.ts'
import { ConversionError, type ManagedKind } from '../patch/managed-kind.ts'
import { compileType } from '../patch/structured-merge/built-in.ts'
import type { Type } from '../patch/structured-merge/schema.ts'
import { schemaErrors } from '../patch/structured-merge/validate.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'
import { shapeOf } from './published-schema.ts'

const types = new WeakMap<JSONSchemaProps, Type>()
function typeOf(schema: JSONSchemaProps): Type {
  let type = types.get(schema)
  if (type === undefined) {
    type = compileType(shapeOf(schema))
    types.set(schema, type)
  }
  return type
}

/**
 * Returns a version of a custom resource in the form that field management uses. `versions` holds the schemas of all
 * versions, by apiVersion.
 */
export function customManagedKind(
  { apiVersion, kind, hasStatus }: { apiVersion: string; kind: string; hasStatus: boolean },
  versions: ReadonlyMap<string, JSONSchemaProps>,
): ManagedKind {
  const typeIn = (version: string): Type | undefined => {
    const schema = versions.get(version)
    return schema && typeOf(schema)
  }
  return {
    apiVersion,
    kind,
    type: typeIn(apiVersion) ?? typeOf({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
    resetFields: (subresource) => defaultResetFields({ hasStatus, statusKeepsMetadata: true }, subresource),
    versions: {
      type: typeIn,
      convert: (object, _from, to) => {
        const type = typeIn(to)
        const [error] = type ? schemaErrors(type, object) : [`request to convert CR to an invalid group/version: ${to}`]
        if (error !== undefined) throw new ConversionError(error)
        return object
      },
    },
  }
}
