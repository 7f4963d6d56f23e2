import type { JSONSchemaProps, ValidationRule } from '../../schema/json-schema.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
  SelectableField,
} from '../custom-resource-definition.ts'

/**
 * Upstream validates its internal type, not v1: what is the same in all versions stands once at the top there,
 * and field paths and printed values in its messages follow that form.
 */
export interface InternalSpec {
  schema?: JSONSchemaProps
  subresources?: CustomResourceSubresources
  additionalPrinterColumns?: CustomResourceColumnDefinition[]
  selectableFields?: SelectableField[]
  versions: CustomResourceDefinitionVersion[]
}

export function internalForm(spec: CustomResourceDefinitionSpec): InternalSpec {
  const [first, ...rest] = spec.versions ?? []
  if (first === undefined) return { versions: [] }
  const shared = <Key extends keyof CustomResourceDefinitionVersion>(key: Key): boolean =>
    rest.every((version) => deepEqual(version[key] ?? null, first[key] ?? null))
  const hoisted = (['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const).filter(shared)
  const strip = (version: CustomResourceDefinitionVersion): CustomResourceDefinitionVersion => {
    const stripped = { ...version }
    for (const key of hoisted) delete stripped[key]
    return stripped
  }
  return {
    ...(hoisted.includes('schema') && { schema: first.schema?.openAPIV3Schema }),
    ...(hoisted.includes('subresources') && { subresources: first.subresources }),
    ...(hoisted.includes('additionalPrinterColumns') && { additionalPrinterColumns: first.additionalPrinterColumns }),
    ...(hoisted.includes('selectableFields') && { selectableFields: first.selectableFields }),
    versions: [first, ...rest].map(strip),
  }
}

/** Returns the versions as messages print them: the internal Go type as JSON. */
export const printVersions = (versions: CustomResourceDefinitionVersion[]): unknown =>
  versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: version.schema === undefined ? null : { OpenAPIV3Schema: printSchema(version.schema.openAPIV3Schema) },
    Subresources: printSubresources(version.subresources),
    AdditionalPrinterColumns:
      version.additionalPrinterColumns?.map((column) => ({
        Name: column.name,
        Type: column.type,
        Format: column.format ?? '',
        Description: column.description ?? '',
        Priority: column.priority ?? 0,
        JSONPath: column.jsonPath,
      })) ?? null,
    SelectableFields: version.selectableFields?.map((field) => ({ JSONPath: field.jsonPath })) ?? null,
  }))

const printSubresources = (subresources: CustomResourceSubresources | undefined): unknown =>
  subresources === undefined
    ? null
    : {
        Status: subresources.status === undefined ? null : {},
        Scale:
          subresources.scale === undefined
            ? null
            : {
                SpecReplicasPath: subresources.scale.specReplicasPath,
                StatusReplicasPath: subresources.scale.statusReplicasPath,
                LabelSelectorPath: subresources.scale.labelSelectorPath ?? null,
              },
      }

export const printRule = (rule: ValidationRule): unknown => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
})

type Print = (value: never) => unknown
const asIs: Print = (value) => value
const schemas: Print = (value: JSONSchemaProps[]) => value.map(printSchema)
const schemaMap: Print = (value: Record<string, JSONSchemaProps>) =>
  Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, printSchema(value[key])]),
  )
const schemaOrBool: Print = (value: JSONSchemaProps | boolean) =>
  typeof value === 'boolean' ? { Allows: value, Schema: null } : { Allows: true, Schema: printSchema(value) }
const schemaOrArray: Print = (value: JSONSchemaProps | JSONSchemaProps[]) =>
  Array.isArray(value)
    ? { Schema: null, JSONSchemas: schemas(value as never) }
    : { Schema: printSchema(value), JSONSchemas: null }
const schemaOrStrings: Print = (value: Record<string, JSONSchemaProps | string[]>) =>
  Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      Array.isArray(item) ? { Schema: null, Property: item } : { Schema: printSchema(item), Property: null },
    ]),
  )

/** Go name, JSON name, zero value, how it prints: in the order of the Go type. */
const SCHEMA_FIELDS: [string, keyof JSONSchemaProps, unknown, Print][] = [
  ['ID', 'id', '', asIs],
  ['Schema', '$schema', '', asIs],
  ['Ref', '$ref', null, asIs],
  ['Description', 'description', '', asIs],
  ['Type', 'type', '', asIs],
  ['Nullable', 'nullable', false, asIs],
  ['Format', 'format', '', asIs],
  ['Title', 'title', '', asIs],
  ['Default', 'default', null, asIs],
  ['Maximum', 'maximum', null, asIs],
  ['ExclusiveMaximum', 'exclusiveMaximum', false, asIs],
  ['Minimum', 'minimum', null, asIs],
  ['ExclusiveMinimum', 'exclusiveMinimum', false, asIs],
  ['MaxLength', 'maxLength', null, asIs],
  ['MinLength', 'minLength', null, asIs],
  ['Pattern', 'pattern', '', asIs],
  ['MaxItems', 'maxItems', null, asIs],
  ['MinItems', 'minItems', null, asIs],
  ['UniqueItems', 'uniqueItems', false, asIs],
  ['MultipleOf', 'multipleOf', null, asIs],
  ['Enum', 'enum', null, asIs],
  ['MaxProperties', 'maxProperties', null, asIs],
  ['MinProperties', 'minProperties', null, asIs],
  ['Required', 'required', null, asIs],
  ['Items', 'items', null, schemaOrArray],
  ['AllOf', 'allOf', null, schemas],
  ['OneOf', 'oneOf', null, schemas],
  ['AnyOf', 'anyOf', null, schemas],
  ['Not', 'not', null, (value: JSONSchemaProps) => printSchema(value)],
  ['Properties', 'properties', null, schemaMap],
  ['AdditionalProperties', 'additionalProperties', null, schemaOrBool],
  ['PatternProperties', 'patternProperties', null, schemaMap],
  ['Dependencies', 'dependencies', null, schemaOrStrings],
  ['AdditionalItems', 'additionalItems', null, schemaOrBool],
  ['Definitions', 'definitions', null, schemaMap],
  [
    'ExternalDocs',
    'externalDocs',
    null,
    (docs: { description?: string; url?: string }) => ({ Description: docs.description ?? '', URL: docs.url ?? '' }),
  ],
  ['Example', 'example', null, asIs],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', null, asIs],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', false, asIs],
  ['XIntOrString', 'x-kubernetes-int-or-string', false, asIs],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', null, asIs],
  ['XListType', 'x-kubernetes-list-type', null, asIs],
  ['XMapType', 'x-kubernetes-map-type', null, asIs],
  ['XValidations', 'x-kubernetes-validations', null, (rules: ValidationRule[]) => rules.map(printRule)],
]

export function printSchema(schema: JSONSchemaProps | undefined): unknown {
  if (schema === undefined) return null
  return Object.fromEntries(
    SCHEMA_FIELDS.map(([goName, name, zero, print]) => [
      goName,
      schema[name] === undefined ? zero : print(schema[name] as never),
    ]),
  )
}

/** Returns the names of the fields that are set, as the Go type names them. */
export const fieldsSet = (schema: JSONSchemaProps): string[] =>
  SCHEMA_FIELDS.filter(([, name, zero]) => schema[name] !== undefined && schema[name] !== zero).map(
    ([goName]) => goName,
  )
