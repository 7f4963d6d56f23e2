import type { OpenApiSchema } from '../../../openapi/schemas.ts'

/** Swagger has no words for these fields. */
const UNKNOWN = ['allOf', 'anyOf', 'oneOf', 'not', 'nullable', 'default'] as const
type Published = OpenApiSchema & { [key in (typeof UNKNOWN)[number]]?: unknown } & { required?: string[] }

/**
 * Schemas of OpenAPI 3 as the older format has them, by name. What a client could then only refuse by mistake (a null,
 * a field that is kept although the schema does not declare it) they leave open. Upstream: ToStructuralOpenAPIV2, and
 * the builder that calls it.
 */
export const swaggerSchemas = (schemas: Record<string, OpenApiSchema>): Record<string, object> =>
  mapValues(schemas, (schema) => (isOpen(schema) ? openObject(schema) : swaggerSchema(schema)))

/** Leaves out even what every object has: kubectl would refuse all other fields as unknown. */
function openObject(schema: OpenApiSchema): object {
  const kept = Object.entries(schema).filter(([key]) => OF_KIND.includes(key))
  return { type: 'object', ...Object.fromEntries(kept) }
}
const OF_KIND = ['x-kubernetes-group-version-kind', 'x-kubernetes-selectable-fields']

function swaggerSchema(schema: Published): object {
  const { $ref, allOf, oneOf, nullable } = schema
  const reference = $ref ?? (allOf?.length === 1 ? allOf[0]?.$ref : undefined)
  const { properties, items, additionalProperties, type, required, ...rest } = schema
  for (const key of UNKNOWN) delete rest[key]
  if (reference) return { ...rest, $ref: reference.replace('#/components/schemas/', '#/definitions/') }
  if (schema['x-kubernetes-int-or-string']) return rest
  const needed = requiredOf(schema)
  return {
    ...rest,
    ...(needed.length > 0 && { required: needed }),
    ...(!nullable && !isOpen(schema) && shapeOf(type ?? (oneOf && 'string'), schema)),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : swaggerSchema(additionalProperties),
    }),
  }
}

const shapeOf = (type: string | undefined, { properties, items }: OpenApiSchema): object => ({
  ...(type && { type }),
  ...(properties && { properties: mapValues(properties, swaggerSchema) }),
  ...(items && { items: swaggerSchema(items) }),
})

/**
 * Without fields that may be null, as Swagger cannot say so; of an open embedded resource without those that OpenAPI 3
 * adds.
 */
function requiredOf(schema: Published): string[] {
  const { required = [], properties, additionalProperties, nullable } = schema
  if (isNullable(additionalProperties)) return []
  if (isOpen(schema) && 'x-kubernetes-embedded-resource' in schema) {
    return required.filter((name) => name !== 'kind' && name !== 'apiVersion')
  }
  return nullable || isOpen(schema) ? required : required.filter((name) => !isNullable(properties?.[name]))
}

const isOpen = (schema: OpenApiSchema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true
const isNullable = (schema: Published | boolean | undefined): boolean =>
  typeof schema === 'object' && schema.nullable === true

const mapValues = <T>(values: Record<string, OpenApiSchema>, change: (value: OpenApiSchema) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
