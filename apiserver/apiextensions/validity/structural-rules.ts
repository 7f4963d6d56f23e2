import { itemsOf, type JSONSchemaProps, ownProperty } from '../../schema/json-schema.ts'
import { structureOf } from '../../schema/parts.ts'
import { patternError } from '../../schema/re2.ts'
import { forbidden, invalid, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'

type Level = 'root' | 'item' | 'field'
const MISSING_TYPE: Record<Level, string> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

/**
 * Checks that a schema is structural: types stand outside of anyOf and its like, so that each field can be found by its
 * path.
 */
export function validateStructural(schema: JSONSchemaProps, path: string): FieldError[] {
  const errors = [...invariants(schema, 'root', path), ...completeness(schema, schema, path, path)]
  return errors.sort((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1))
}
const sortKey = (error: FieldError): string => `${error.field}: ${error.type}: ${error.detail}`

function invariants(schema: JSONSchemaProps, level: Level, path: string): FieldError[] {
  return [
    ...(schema.type === 'array' && schema.items === undefined ? [required(`${path}.items`, 'must be specified')] : []),
    ...structureOf(schema).flatMap((part) => invariants(part.schema, part.level, path + part.step)),
    ...(level === 'root' && schema.additionalProperties !== undefined
      ? [forbidden(`${path}.additionalProperties`, 'must not be used at the root')]
      : []),
    ...extensionConflicts(schema, path),
    ...valueValidations(schema, level, path, intOrStringExceptions(schema)),
    ...typeRules(schema, level, path),
    ...metaRules(schema, level, path),
  ]
}

function extensionConflicts(schema: JSONSchemaProps, path: string): FieldError[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return []
  const detail = 'must be false if x-kubernetes-int-or-string is true'
  return [
    ...(schema['x-kubernetes-preserve-unknown-fields'] === true
      ? [invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, detail)]
      : []),
    ...(schema['x-kubernetes-embedded-resource'] === true
      ? [invalid(`${path}.x-kubernetes-embedded-resource`, true, detail)]
      : []),
  ]
}

function typeRules(schema: JSONSchemaProps, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = []
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  if (embedded && schema.type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    errors.push(schema.type ? invalid(`${path}.type`, schema.type, detail) : required(`${path}.type`, detail))
  } else if (
    !schema.type &&
    schema['x-kubernetes-int-or-string'] !== true &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  )
    errors.push(required(`${path}.type`, MISSING_TYPE[level]))
  if (embedded && schema.additionalProperties !== undefined)
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set'))
  if (level === 'root' && schema.type && schema.type !== 'object')
    errors.push(invalid(`${path}.type`, schema.type, 'must be object at the root'))
  if (
    embedded &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true &&
    Object.keys(schema.properties ?? {}).length === 0
  )
    errors.push(
      required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    )
  return errors
}

/** apiVersion, kind and metadata are implied; a schema may only restrict names. */
function metaRules(schema: JSONSchemaProps, level: Level, path: string): FieldError[] {
  if (level !== 'root' && schema['x-kubernetes-embedded-resource'] !== true) return []
  const errors: FieldError[] = []
  for (const key of ['kind', 'apiVersion']) {
    const property = ownProperty(schema.properties, key)
    if (property !== undefined && property.type !== 'string')
      errors.push(invalid(`${path}.properties[${key}].type`, property.type ?? '', 'must be string'))
  }
  const metadata = ownProperty(schema.properties, 'metadata')
  if (metadata === undefined) return errors
  const at = `${path}.properties[metadata]`
  if (metadata.type !== 'object') errors.push(invalid(`${at}.type`, metadata.type ?? '', 'must be object'))
  if (level === 'root' && saysMoreThanNames(metadata))
    errors.push(
      forbidden(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified'),
    )
  return errors
}

function saysMoreThanNames(metadata: JSONSchemaProps): boolean {
  const { type, default: defaultValue, properties = {}, ...rest } = metadata
  return Object.keys(rest).length > 0 || Object.keys(properties).some((key) => key !== 'name' && key !== 'generateName')
}

const INT_OR_STRING: JSONSchemaProps[] = [{ type: 'integer' }, { type: 'string' }]
/** The two places where the types of x-kubernetes-int-or-string may be repeated. */
interface Exceptions {
  anyOf: boolean
  firstAllOf: boolean
}
const NO_EXCEPTIONS: Exceptions = { anyOf: false, firstAllOf: false }
function intOrStringExceptions(schema: JSONSchemaProps): Exceptions {
  if (deepEqual(schema.anyOf, INT_OR_STRING)) return { anyOf: true, firstAllOf: false }
  return { anyOf: false, firstAllOf: deepEqual(schema.allOf?.[0]?.anyOf, INT_OR_STRING) }
}

function valueValidations(schema: JSONSchemaProps, level: Level, path: string, exceptions: Exceptions): FieldError[] {
  const list = (branches: JSONSchemaProps[] | undefined, name: string): FieldError[] =>
    (branches ?? []).flatMap((branch, index) =>
      nestedValidations(branch, level, `${path}.${name}[${index}]`, {
        anyOf: name === 'allOf' && index === 0 && exceptions.firstAllOf,
        firstAllOf: false,
      }),
    )
  const wrongPattern = schema.pattern ? patternError(schema.pattern) : undefined
  return [
    ...(exceptions.anyOf ? [] : list(schema.anyOf, 'anyOf')),
    ...list(schema.allOf, 'allOf'),
    ...list(schema.oneOf, 'oneOf'),
    ...(schema.not === undefined ? [] : nestedValidations(schema.not, level, `${path}.not`, NO_EXCEPTIONS)),
    ...(wrongPattern === undefined
      ? []
      : [invalid(`${path}.pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${wrongPattern}`)]),
  ]
}

/** Maps each field that anyOf, allOf, oneOf and not may not have to upstream's words for it. */
const OUTSIDE_ONLY: [keyof JSONSchemaProps, string][] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
]

function nestedValidations(schema: JSONSchemaProps, level: Level, path: string, exceptions: Exceptions): FieldError[] {
  const items = itemsOf(schema)
  return [
    ...valueValidations(schema, level, path, exceptions),
    ...(items === undefined ? [] : nestedValidations(items, 'item', `${path}.items`, NO_EXCEPTIONS)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
      nestedValidations(child, 'field', `${path}.properties[${key}]`, NO_EXCEPTIONS),
    ),
    ...OUTSIDE_ONLY.filter(
      ([field]) => schema[field] !== undefined && schema[field] !== '' && schema[field] !== false,
    ).map(([field, detail]) => forbidden(`${path}.${field}`, detail)),
    ...(ownProperty(schema.properties, 'metadata') === undefined
      ? []
      : [forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context')]),
  ]
}

/** Fields that anyOf and its like at the root speak of must be specified outside of it too. */
function completeness(
  validation: JSONSchemaProps,
  schema: JSONSchemaProps | undefined,
  schemaPath: string,
  path: string,
): FieldError[] {
  if (schema === undefined) return [required(schemaPath, `because it is defined in ${path}`)]
  const list = (branches: JSONSchemaProps[] | undefined, name: string): FieldError[] =>
    (branches ?? []).flatMap((branch, index) =>
      nestedCompleteness(branch, schema, schemaPath, `${path}.${name}[${index}]`),
    )
  return [
    ...(validation.not === undefined ? [] : nestedCompleteness(validation.not, schema, schemaPath, `${path}.not`)),
    ...list(validation.allOf, 'allOf'),
    ...list(validation.anyOf, 'anyOf'),
    ...list(validation.oneOf, 'oneOf'),
  ]
}

function nestedCompleteness(
  validation: JSONSchemaProps,
  schema: JSONSchemaProps | undefined,
  schemaPath: string,
  path: string,
): FieldError[] {
  const items = itemsOf(validation)
  return [
    ...completeness(validation, schema, schemaPath, path),
    ...(items === undefined || schema === undefined
      ? []
      : nestedCompleteness(items, itemsOf(schema), `${schemaPath}.items`, `${path}.items`)),
    ...(schema === undefined
      ? []
      : Object.entries(validation.properties ?? {}).flatMap(([key, child]) =>
          nestedCompleteness(
            child,
            ownProperty(schema.properties, key),
            `${schemaPath}.properties[${key}]`,
            `${path}.properties[${key}]`,
          ),
        )),
  ]
}
