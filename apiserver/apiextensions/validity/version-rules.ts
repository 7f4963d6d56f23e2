import { additionalOf, type JSONSchemaProps, ownProperty } from '../../schema/json-schema.ts'
import { allParts } from '../../schema/parts.ts'
import type { SchemaWork } from '../../schema/schema-work.ts'
import { duplicate, forbidden, invalid, required, tooMany } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
  SelectableField,
} from '../custom-resource-definition.ts'
import { parseFieldPath } from '../field-path.ts'
import { compileAllRules, validateRuleFields } from './cel-rules.ts'
import { validateDefaults } from './default-rules.ts'
import { fieldsSet, printSchema } from './internal-form.ts'
import { validateOpenAPISchema } from './openapi-rules.ts'
import { validateStructural } from './structural-rules.ts'

const MAX_DEPRECATION_WARNING = 256
const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']
/**
 * Go names: with a status subresource, the schema of status is cut out of the root, which may say no more than this.
 */
const ALLOWED_AT_ROOT = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
]

/** Validates a version's schema. `path` ends before openAPIV3Schema; `work` is the budget of all versions together. */
export function validateSchema(
  schema: JSONSchemaProps | undefined,
  path: string,
  options: { statusEnabled: boolean; unchanged: boolean; work: SchemaWork },
): FieldError[] {
  const { work } = options
  if (schema === undefined || work.isSpent) return []
  const at = `${path}.openAPIV3Schema`
  const ofSchema = [...validateOpenAPISchema(schema, at), ...validateRuleFields(schema, at)]
  const errors = [
    ...(options.statusEnabled ? validateRootForStatus(schema, at) : []),
    ...(schema.nullable === true ? [forbidden(`${at}.nullable`, 'nullable cannot be true at the root')] : []),
    ...ofSchema,
  ]
  if (hasPart(schema, HAS_NO_STRUCTURE)) return errors
  if (hasPart(schema, (part) => Boolean(part.$schema)))
    return errors.length > 0 ? errors : [invalid(at, '', "OpenAPIV3Schema 'schema' is not supported")]
  if (work.endsIn(() => compilePatterns(schema, work))) return [...errors, work.error(at)]
  const structural = validateStructural(schema, at)
  if (structural.length > 0) return [...structural, ...errors]
  const defaults = validateDefaults(schema, at, work)
  return [
    ...defaults,
    ...errors,
    ...(defaults.length > 0 ? [] : compileAllRules(schema, at, ofSchema, options.unchanged)),
  ]
}

function compilePatterns(schema: JSONSchemaProps, work: SchemaWork): void {
  if (schema.pattern) work.spendPattern(schema.pattern)
  for (const part of allParts(schema)) compilePatterns(part, work)
}

/** With one of these, refused in its own words, there is no structural form to look at. */
const HAS_NO_STRUCTURE = (schema: JSONSchemaProps): boolean =>
  Boolean(schema.id) ||
  Boolean(schema.$ref) ||
  schema.additionalItems !== undefined ||
  Object.keys(schema.patternProperties ?? {}).length > 0 ||
  Object.keys(schema.definitions ?? {}).length > 0 ||
  schema.dependencies !== undefined ||
  (Array.isArray(schema.items) && schema.items.length > 0) ||
  schema['x-kubernetes-preserve-unknown-fields'] === false

/** Returns whether the schema, or a schema anywhere within it, passes the test. */
export const hasPart = (schema: JSONSchemaProps, test: (part: JSONSchemaProps) => boolean): boolean =>
  test(schema) || allParts(schema).some((part) => hasPart(part, test))

function validateRootForStatus(schema: JSONSchemaProps, path: string): FieldError[] {
  for (const field of fieldsSet(schema)) {
    if (field === 'Type') {
      if (schema.type !== 'object')
        return [
          invalid(
            `${path}.type`,
            schema.type,
            'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
          ),
        ]
    } else if (!ALLOWED_AT_ROOT.includes(field))
      return [
        invalid(
          path,
          printSchema(schema),
          `only [${ALLOWED_AT_ROOT.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`,
        ),
      ]
  }
  return []
}

export function validateDeprecation(version: CustomResourceDefinitionVersion, path: string): FieldError[] {
  const warning = version.deprecationWarning
  if (warning === undefined) return []
  return deprecationProblems(warning, version.deprecated === true).map((problem) =>
    invalid(`${path}.deprecationWarning`, warning, problem),
  )
}

function deprecationProblems(warning: string, deprecated: boolean): string[] {
  if (!deprecated) return ['can only be set for deprecated versions']
  const problems: string[] = []
  if (Buffer.byteLength(warning) > MAX_DEPRECATION_WARNING)
    problems.push(`must be <= ${MAX_DEPRECATION_WARNING} characters long`)
  if (warning === '') problems.push('must not be an empty string')
  const unprintable = warning.search(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u)
  if (unprintable >= 0)
    problems.push(
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, unprintable))}`,
    )
  return problems
}

export function validateSubresources(subresources: CustomResourceSubresources | undefined, path: string): FieldError[] {
  const scale = subresources?.scale
  if (scale === undefined) return []
  const under = (field: string, value: string, prefixes: string[], detail: string): FieldError[] => {
    const at = `${path}.scale.${field}`
    const errors = validateSimplePath(value, at)
    return errors.length > 0 || prefixes.some((prefix) => value.startsWith(prefix))
      ? errors
      : [invalid(at, value, detail)]
  }
  return [
    ...(scale.specReplicasPath
      ? under('specReplicasPath', scale.specReplicasPath, ['.spec.'], 'should be a json path under .spec')
      : [required(`${path}.scale.specReplicasPath`)]),
    ...(scale.statusReplicasPath
      ? under('statusReplicasPath', scale.statusReplicasPath, ['.status.'], 'should be a json path under .status')
      : [required(`${path}.scale.statusReplicasPath`)]),
    ...(scale.labelSelectorPath
      ? under(
          'labelSelectorPath',
          scale.labelSelectorPath,
          ['.spec.', '.status.'],
          'should be a json path under either .spec or .status',
        )
      : []),
  ]
}

export function validateColumn(column: CustomResourceColumnDefinition, path: string): FieldError[] {
  const types = `must be one of ${COLUMN_TYPES.join(',')}`
  return [
    ...(column.name ? [] : [required(`${path}.name`)]),
    ...(column.type ? [] : [required(`${path}.type`, types)]),
    ...(column.type && !COLUMN_TYPES.includes(column.type) ? [invalid(`${path}.type`, column.type, types)] : []),
    ...(column.format && !COLUMN_FORMATS.includes(column.format)
      ? [invalid(`${path}.format`, column.format, `must be one of ${COLUMN_FORMATS.join(',')}`)]
      : []),
    ...(column.jsonPath ? validateSimplePath(column.jsonPath, `${path}.JSONPath`) : [required(`${path}.JSONPath`)]),
  ]
}

const validateSimplePath = (value: string, path: string): FieldError[] =>
  value.startsWith('.') ? [] : [invalid(path, value, 'must be a simple json path starting with .')]

const MAX_SELECTABLE_FIELDS = 8
const SELECTABLE_TYPES = ['boolean', 'integer', 'string']
export function validateSelectableFields(
  fields: SelectableField[] | undefined,
  schema: JSONSchemaProps | undefined,
  path: string,
): FieldError[] {
  if (fields === undefined) return []
  const seen = new Set<string>()
  const errors = fields.flatMap(({ jsonPath }, index) => {
    const at = `${path}[${index}].jsonPath`
    if (!jsonPath) return [required(at)]
    const steps = parseFieldPath(jsonPath)
    const target = steps?.reduce<JSONSchemaProps | undefined>(
      (parent, step) => parent && (ownProperty(parent.properties, step) ?? additionalOf(parent)),
      schema,
    )
    if (steps === undefined || target === undefined || jsonPath.includes('['))
      return [invalid(at, jsonPath, `is an invalid path: ${pathProblem(jsonPath)}`)]
    const isRepeated = seen.has(jsonPath)
    seen.add(jsonPath)
    return [
      ...(steps[0] === 'metadata' ? [invalid(at, jsonPath, 'must not point to fields in metadata')] : []),
      ...(SELECTABLE_TYPES.includes(target.type ?? '') ? [] : [invalid(at, jsonPath, notSelectable)]),
      ...(isRepeated ? [duplicate(at, jsonPath)] : []),
    ]
  })
  return seen.size > MAX_SELECTABLE_FIELDS ? [...errors, tooMany(path, seen.size, MAX_SELECTABLE_FIELDS)] : errors
}

const notSelectable =
  'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'

function pathProblem(jsonPath: string): string {
  if (!/^[.[]/.test(jsonPath)) return `expected [ or . but got: ${/^[^.[\]]*/.exec(jsonPath)?.[0] ?? ''}`
  return jsonPath.includes('[') ? 'array notation is not allowed' : 'does not refer to a valid field'
}
