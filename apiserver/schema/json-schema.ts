import { ownValue } from '../../shared/api/json/own-value.ts'
/** apiextensions.k8s.io/v1 JSONSchemaProps: the OpenAPI v3 schema of a custom resource, as its author wrote it. */
export interface JSONSchemaProps {
  id?: string
  $schema?: string
  $ref?: string
  description?: string
  type?: string
  format?: string
  title?: string
  default?: unknown
  nullable?: boolean
  maximum?: number
  exclusiveMaximum?: boolean
  minimum?: number
  exclusiveMinimum?: boolean
  multipleOf?: number
  maxLength?: number
  minLength?: number
  pattern?: string
  maxItems?: number
  minItems?: number
  uniqueItems?: boolean
  maxProperties?: number
  minProperties?: number
  enum?: unknown[]
  required?: string[]
  items?: JSONSchemaProps | JSONSchemaProps[]
  allOf?: JSONSchemaProps[]
  oneOf?: JSONSchemaProps[]
  anyOf?: JSONSchemaProps[]
  not?: JSONSchemaProps
  properties?: Record<string, JSONSchemaProps>
  additionalProperties?: JSONSchemaProps | boolean
  patternProperties?: Record<string, JSONSchemaProps>
  dependencies?: Record<string, JSONSchemaProps | string[]>
  additionalItems?: JSONSchemaProps | boolean
  definitions?: Record<string, JSONSchemaProps>
  externalDocs?: { description?: string; url?: string }
  example?: unknown
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-map-type'?: string
  'x-kubernetes-validations'?: ValidationRule[]
}

/** Holds one CEL rule of x-kubernetes-validations. */
export interface ValidationRule {
  rule: string
  message?: string
  messageExpression?: string
  reason?: string
  fieldPath?: string
  optionalOldSelf?: boolean
}

export type JsonObject = Record<string, unknown>
export const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The one schema of all items; the forbidden array form counts as none. */
export const itemsOf = (schema: JSONSchemaProps | undefined): JSONSchemaProps | undefined =>
  schema?.items === undefined || Array.isArray(schema.items) ? undefined : schema.items

/** The schema of values whose key is not among `properties`; `additionalProperties: true` says nothing about them. */
export const additionalOf = (schema: JSONSchemaProps): JSONSchemaProps | undefined =>
  isObject(schema.additionalProperties) ? (schema.additionalProperties as JSONSchemaProps) : undefined

export const ownProperty = (
  properties: Record<string, JSONSchemaProps> | undefined,
  key: string,
): JSONSchemaProps | undefined => ownValue(properties, key)

/** Names the fields that every object of the API has; no schema can remove them. */
export const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])
