import type { OpenApiSchema } from '../../openapi/schemas.ts'

/** What Swagger has no words for. */
const UNKNOWN = ['allOf', 'anyOf', 'oneOf', 'not', 'nullable', 'default'] as const
type Published = OpenApiSchema & { [key in (typeof UNKNOWN)[number]]?: unknown }

/**
 * A schema of OpenAPI 3 as the older format has it. What a client could then only refuse by mistake (a null, a field that is kept
 * though nobody declared it) it leaves open, as upstream's `ToStructuralOpenAPIV2` does.
 */
function swaggerSchema(schema: OpenApiSchema): object {
  const { $ref, allOf } = schema
  const reference = $ref ?? (allOf?.length === 1 ? allOf[0]?.$ref : undefined)
  const { properties, items, additionalProperties, type, ...rest } = schema as Published
  for (const key of UNKNOWN) delete rest[key]
  if (reference) return { ...rest, $ref: reference.replace('#/components/schemas/', '#/definitions/') }
  const { nullable } = schema as Published
  if (nullable || schema['x-kubernetes-preserve-unknown-fields']) return rest
  if (schema['x-kubernetes-int-or-string']) return rest
  return {
    ...rest,
    ...(schema.oneOf ? { type: 'string' } : type && { type }),
    ...(properties && { properties: swaggerSchemas(properties) }),
    ...(items && { items: swaggerSchema(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : swaggerSchema(additionalProperties),
    }),
  }
}

export const swaggerSchemas = (schemas: Record<string, OpenApiSchema>): Record<string, object> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, swaggerSchema(schema)]))
