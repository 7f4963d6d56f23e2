import type { OpenApiSchema } from '../../openapi/schemas.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'

const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'
const METADATA = {
  description: `Standard object's metadata. More info: ${conventions}#metadata`,
  allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
} as OpenApiSchema
const text = (description: string) => ({ type: 'string', description }) as OpenApiSchema
const OF_OBJECT = {
  apiVersion: text(
    `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`,
  ),
  kind: text(
    `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`,
  ),
  metadata: METADATA,
}
const OF_EMBEDDED = {
  apiVersion: text(
    `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
  ),
  kind: text(
    `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
  ),
  metadata: METADATA,
}
const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }] as OpenApiSchema[]

/**
 * Returns a schema in its OpenAPI 3 form, with apiVersion, kind and metadata added to the root and to embedded
 * resources.
 */
export function publishedSchema(schema: JSONSchemaProps): OpenApiSchema {
  return withProperties(publish(schema, []), OF_OBJECT)
}

/** Returns the OpenAPI schema of a custom resource's list type. `item` is the name of the schema of a single object. */
export function publishedList(names: { kind: string; listKind: string; plural: string; item: string }): OpenApiSchema {
  const { kind, listKind, plural, item } = names
  const list = { description: `${listKind} is a list of ${kind}`, type: 'object', required: ['items'] }
  return withProperties(list, {
    ...OF_OBJECT,
    items: {
      description: `List of ${plural}. More info: ${conventions}`,
      type: 'array',
      items: { $ref: `#/components/schemas/${item}` },
    } as OpenApiSchema,
    metadata: {
      description: `Standard list metadata. More info: ${conventions}#types-kinds`,
      allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta' }],
    } as OpenApiSchema,
  })
}

/** Returns the published schema without the keywords that only restrict values: merging needs no more. */
export function shapeOf(schema: JSONSchemaProps): OpenApiSchema {
  const limits = ['allOf', 'anyOf', 'oneOf', 'not', 'x-kubernetes-validations'] as const
  return withProperties(publish(schema, limits), OF_OBJECT)
}

const withProperties = (schema: OpenApiSchema, properties: Record<string, OpenApiSchema>): OpenApiSchema => ({
  ...schema,
  properties: { ...schema.properties, ...properties },
})

/** Upstream: apiextensions-apiserver/pkg/controller/openapi/builder, addEmbeddedProperties. */
const asEmbedded = (schema: OpenApiSchema & { required?: string[] }): OpenApiSchema & { required: string[] } => ({
  ...withProperties(schema, OF_EMBEDDED),
  required: [...new Set([...(schema.required ?? []), 'kind', 'apiVersion'])],
})

function publish(schema: JSONSchemaProps, hidden: readonly (keyof JSONSchemaProps)[]): OpenApiSchema {
  const { properties, items, additionalProperties, ...rest } = schema
  if (rest['x-kubernetes-int-or-string']) rest.anyOf ??= INT_OR_STRING as JSONSchemaProps[]
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
  return schema['x-kubernetes-embedded-resource'] === true ? asEmbedded(published) : published
}
