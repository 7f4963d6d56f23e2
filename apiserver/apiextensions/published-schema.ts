import type { OpenApiSchema } from '../../openapi/schemas.ts'
import type { JSONSchemaProps } from './schema/json-schema.ts'

const OBJECT_META = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
const API_VERSION =
  'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values.'
const KIND =
  'Kind is a string value representing the REST resource this object represents. Cannot be updated. In CamelCase.'

/** What of a schema is only for the server's eyes, or says nothing to a client. */
const UNPUBLISHED = ['x-kubernetes-validations'] as const

/** A schema with what every object has: apiVersion, kind and metadata, for the root and for embedded resources. */
export function publishedSchema(schema: JSONSchemaProps): OpenApiSchema {
  return withMeta(publish(schema, UNPUBLISHED))
}

/** The same without what only limits values: what merging must know. */
export function shapeOf(schema: JSONSchemaProps): OpenApiSchema {
  return withMeta(publish(schema, [...UNPUBLISHED, 'allOf', 'anyOf', 'oneOf', 'not']))
}

function withMeta(schema: OpenApiSchema): OpenApiSchema {
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: { type: 'string', description: API_VERSION } as OpenApiSchema,
      kind: { type: 'string', description: KIND } as OpenApiSchema,
      metadata: { allOf: [{ $ref: OBJECT_META }] },
    },
  }
}

function publish(schema: JSONSchemaProps, hidden: readonly (keyof JSONSchemaProps)[]): OpenApiSchema {
  const { properties, items, additionalProperties, ...rest } = schema
  for (const field of hidden) delete (rest as JSONSchemaProps)[field]
  const published: OpenApiSchema = {
    ...(rest as OpenApiSchema),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, publish(child, hidden)])),
    }),
    ...(items !== undefined && !Array.isArray(items) && { items: publish(items, hidden) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : publish(additionalProperties, hidden),
    }),
  }
  return schema['x-kubernetes-embedded-resource'] === true ? withMeta(published) : published
}
