import { type OpenApiSchema, openApiSchema, referredSchema } from '../../openapi/schemas.ts'
import { plainError } from '../../shared/api/status/status-errors.ts'

/** Holds what a strategic merge patch must know about a type. */
export interface PatchType {
  /** Name of the struct, for messages. */
  name: string
  /** Finds a field by its JSON name. Throws if the type does not have it. */
  field(key: string): PatchField
}
export interface PatchField {
  strategies: readonly string[]
  mergeKey: string
  /** Holds the type of the value, or of a list's items. */
  type: PatchType
}

const types = new Map<string, PatchType>()

export function patchType(name: string): PatchType {
  let type = types.get(name)
  if (!type) {
    type = compile(openApiSchema(name) ?? {}, name.slice(name.lastIndexOf('.') + 1))
    types.set(name, type)
  }
  return type
}

function compile(schema: OpenApiSchema, name: string): PatchType {
  const fields = new Map<string, PatchField>()
  return {
    name,
    field(key) {
      let field = fields.get(key)
      if (!field) {
        const property = schema.properties?.[key] ?? elementOf(schema)
        if (!property)
          throw plainError(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`)
        field = compileField(property, name)
        fields.set(key, field)
      }
      return field
    },
  }
}

/** Any key fits a map, and a value of unknown shape. */
function elementOf({ properties, additionalProperties }: OpenApiSchema): OpenApiSchema | undefined {
  if (typeof additionalProperties === 'object') return additionalProperties
  return properties ? undefined : {}
}

function compileField(property: OpenApiSchema, parent: string): PatchField {
  const value = property.type === 'array' ? (property.items ?? {}) : property
  const name = referredSchema(value)
  return {
    strategies: property['x-kubernetes-patch-strategy']?.split(',') ?? [],
    mergeKey: property['x-kubernetes-patch-merge-key'] ?? '',
    type: name ? patchType(name) : compile(value, parent),
  }
}
