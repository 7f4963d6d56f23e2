/** The generated component schemas, with patch and list markers: parsed at the first question. */
import { readFileSync } from 'node:fs'

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

let schemas: Record<string, OpenApiSchema> | undefined

function load(): Record<string, OpenApiSchema> {
  schemas ??= JSON.parse(readFileSync(new URL('data/schemas.json', import.meta.url), 'utf8')) as Record<
    string,
    OpenApiSchema
  >
  return schemas
}

/** Returns a schema by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`; undefined if there is none. */
export const openApiSchema = (name: string): OpenApiSchema | undefined => load()[name]
/** Returns all schemas with their OpenAPI names. */
export const openApiSchemas = (): [name: string, schema: OpenApiSchema][] => Object.entries(load())

/** Returns the name of the schema that a property refers to; undefined if it refers to none. */
export function referredSchema(schema: OpenApiSchema): string | undefined {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
  return reference?.slice(reference.lastIndexOf('/') + 1)
}
