/** The generated component schemas, with patch and list markers. */
import { LineTable } from './line-table.ts'

/** Describes the part of an OpenAPI 3 schema that merging and explaining need. */
export interface OpenApiSchema {
  type?: string
  format?: string
  default?: unknown
  properties?: Record<string, OpenApiSchema>
  additionalProperties?: OpenApiSchema | boolean
  items?: OpenApiSchema
  allOf?: { $ref?: string }[]
  oneOf?: unknown[]
  $ref?: string
  'x-kubernetes-list-type'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: string
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[]
}

const table = new LineTable<OpenApiSchema>('schemas.json')
const schemas = new Map<string, OpenApiSchema>()

/** Returns a schema by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`; undefined if there is none. */
export function openApiSchema(name: string): OpenApiSchema | undefined {
  const schema = schemas.get(name) ?? table.get(name)
  if (schema) schemas.set(name, schema)
  return schema
}

/** Returns all schemas with their OpenAPI names. */
export const openApiSchemas = (): [name: string, schema: OpenApiSchema][] =>
  [...table.names()].map((name) => [name, openApiSchema(name)!])

/** Returns the name of the schema that a property refers to; undefined if it refers to none. */
export function referredSchema(schema: OpenApiSchema): string | undefined {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
  return reference?.slice(reference.lastIndexOf('/') + 1)
}
