import { additionalOf, itemsOf, type JSONSchemaProps, META_FIELDS, ownProperty } from '../../schema/json-schema.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string']

/** Says why defaults are forbidden at the place of the walk; undefined if they are allowed. */
interface Walk {
  root: boolean
  defaultsForbidden?: string
  /** In the schema of apiVersion, kind or metadata, of the object or of one embedded in it. */
  insideMeta?: boolean
}

/**
 * Checks that a schema uses only the parts of OpenAPI v3 that apiextensions/v1 allows, and that its x-kubernetes
 * extensions do not conflict.
 */
export function validateOpenAPISchema(
  schema: JSONSchemaProps,
  path: string,
  walk: Walk = { root: true },
): FieldError[] {
  const below: Walk = { ...walk, root: false }
  const nested = (child: JSONSchemaProps | undefined, childPath: string, childWalk = below): FieldError[] =>
    child === undefined ? [] : validateOpenAPISchema(child, childPath, childWalk)
  const each = (children: Record<string, JSONSchemaProps> | undefined, name: string): FieldError[] =>
    Object.entries(children ?? {}).flatMap(([key, child]) => nested(child, `${path}.${name}[${key}]`))
  const list = (children: JSONSchemaProps[] | undefined, name: string): FieldError[] =>
    (children ?? []).flatMap((child, index) => nested(child, `${path}.${name}[${index}]`))
  const holdsMeta = walk.root || schema['x-kubernetes-embedded-resource'] === true
  return [
    ...standardRules(schema, path, walk),
    ...(schema.uniqueItems === true
      ? [
          forbidden(
            `${path}.uniqueItems`,
            'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
          ),
        ]
      : []),
    ...(schema.additionalProperties !== undefined &&
    Object.keys(schema.properties ?? {}).length > 0 &&
    schema.additionalProperties !== true
      ? [forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive')]
      : []),
    ...nested(
      additionalOf(schema),
      `${path}.additionalProperties`,
      walk.insideMeta
        ? { ...below, defaultsForbidden: 'inside additionalProperties applying to object metadata' }
        : below,
    ),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
      nested(
        child,
        `${path}.properties[${key}]`,
        holdsMeta && META_FIELDS.has(key)
          ? { ...below, insideMeta: true, ...(walk.root && { defaultsForbidden: `in top-level ${key}` }) }
          : below,
      ),
    ),
    ...nested(schema.not, `${path}.not`),
    ...list(schema.allOf, 'allOf'),
    ...list(schema.oneOf, 'oneOf'),
    ...list(schema.anyOf, 'anyOf'),
    ...each(schema.definitions, 'definitions'),
    ...nested(itemsOf(schema), `${path}.items`),
    ...(Array.isArray(schema.items) ? list(schema.items, 'items') : []),
    ...extensionRules(schema, path),
  ]
}

function standardRules(schema: JSONSchemaProps, path: string, walk: Walk): FieldError[] {
  const unsupported = (field: keyof JSONSchemaProps, present: boolean): FieldError[] =>
    present ? [forbidden(`${path}.${field}`, `${field} is not supported`)] : []
  return [
    ...(schema.type && !TYPES.includes(schema.type) ? [notSupported(`${path}.type`, schema.type, TYPES)] : []),
    ...(schema.default !== undefined && walk.defaultsForbidden !== undefined
      ? [forbidden(`${path}.default`, `must not be set ${walk.defaultsForbidden}`)]
      : []),
    ...unsupported('id', Boolean(schema.id)),
    ...unsupported('additionalItems', schema.additionalItems !== undefined),
    ...unsupported('patternProperties', Object.keys(schema.patternProperties ?? {}).length > 0),
    ...unsupported('definitions', Object.keys(schema.definitions ?? {}).length > 0),
    ...unsupported('dependencies', schema.dependencies !== undefined),
    ...unsupported('$ref', schema.$ref !== undefined),
    ...(walk.insideMeta === true && schema['x-kubernetes-embedded-resource'] === true
      ? [forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta')]
      : []),
    ...(schema.type === 'null'
      ? [forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative')]
      : []),
    ...(Array.isArray(schema.items) && schema.items.length > 0
      ? [forbidden(`${path}.items`, 'items must be a schema object and not an array')]
      : []),
  ]
}

function extensionRules(schema: JSONSchemaProps, path: string): FieldError[] {
  return [
    ...(schema['x-kubernetes-preserve-unknown-fields'] === false
      ? [invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined')]
      : []),
    ...mapTypeRules(schema, path),
    ...listTypeRules(schema, path),
    ...mapKeyRules(schema, path),
    ...listItemRules(schema, path),
  ]
}

/** The type that an extension needs. */
function needsType(schema: JSONSchemaProps, path: string, type: string, extension: string): FieldError[] {
  if (schema.type === type) return []
  const detail = `must be ${type} if ${extension} is specified`
  return [schema.type ? invalid(`${path}.type`, schema.type, detail) : required(`${path}.type`, detail)]
}

function mapTypeRules(schema: JSONSchemaProps, path: string): FieldError[] {
  const mapType = schema['x-kubernetes-map-type']
  if (mapType === undefined) return []
  return [
    ...needsType(schema, path, 'object', 'x-kubernetes-map-type'),
    ...(['atomic', 'granular'].includes(mapType)
      ? []
      : [notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular'])]),
  ]
}

function listTypeRules(schema: JSONSchemaProps, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  if (listType === undefined) return []
  const wrongType = needsType(schema, path, 'array', 'x-kubernetes-list-type')
  return [
    ...wrongType,
    ...(wrongType.length === 0 && listType === 'set' ? setItemRules(itemsOf(schema), `${path}.items`) : []),
    ...(['atomic', 'set', 'map'].includes(listType)
      ? []
      : [notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map'])]),
  ]
}

/** Items of a set are compared whole. */
function setItemRules(items: JSONSchemaProps | undefined, path: string): FieldError[] {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (items?.type === 'array') {
    const listType = items['x-kubernetes-list-type']
    return listType === undefined || listType === 'atomic'
      ? []
      : [invalid(`${path}.x-kubernetes-list-type`, listType, detail)]
  }
  if (items?.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    return [invalid(`${path}.x-kubernetes-map-type`, items['x-kubernetes-list-type'] ?? null, detail)]
  return []
}

function mapKeyRules(schema: JSONSchemaProps, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const errors: FieldError[] = []
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    errors.push(
      listType === undefined
        ? required(`${path}.x-kubernetes-list-type`, detail)
        : invalid(`${path}.x-kubernetes-list-type`, listType, detail),
    )
  }
  if (listType !== 'map') return errors
  if (keys.length === 0)
    errors.push(required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'))
  if (schema.items === undefined)
    errors.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'))
  const items = itemsOf(schema)
  if (items === undefined) return errors
  if (items.type !== 'object')
    return [
      ...errors,
      invalid(`${path}.items.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map"),
    ]
  return [...errors, ...keyPropertyRules(keys, items, path)]
}

function keyPropertyRules(keys: string[], items: JSONSchemaProps, path: string): FieldError[] {
  const seen = new Set<string>()
  return keys.flatMap((key) => {
    const errors: FieldError[] = []
    const property = ownProperty(items.properties, key)
    if (property === undefined)
      errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'entries must all be names of item properties'))
    else if (property.type === 'array' || property.type === 'object')
      errors.push(
        invalid(
          `${path}.items.properties[${key}].type`,
          items.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      )
    if (seen.has(key))
      errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'must not contain duplicate entries'))
    seen.add(key)
    return errors
  })
}

/** Items of sets and maps always have an identity: never null, keys always there. */
function listItemRules(schema: JSONSchemaProps, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type']
  const items = itemsOf(schema)
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return []
  const errors: FieldError[] = []
  if (items.nullable === true)
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`))
  if (listType === 'set') return errors
  const given = new Set(items.required)
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const property = ownProperty(items.properties, key)
    if (property === undefined) continue
    const at = `${path}.items.properties[${key}]`
    if (property.default === undefined && !given.has(key))
      errors.push(
        required(
          `${at}.default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      )
    if (property.nullable === true)
      errors.push(
        forbidden(`${at}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'),
      )
  }
  return errors
}
