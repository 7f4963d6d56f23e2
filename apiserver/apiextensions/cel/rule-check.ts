import { deepEqual } from '../../resources/deep-equal.ts'
import { OMITTED } from '../../validation/field-error.ts'
import type { FieldError, FieldErrorType } from '../../validation/field-errors.ts'
import { NO_FIELD } from '../field-error.ts'
import { additionalOf, isObject, itemsOf, type JSONSchemaProps, ownProperty } from '../schema/json-schema.ts'
import { mentions } from '../schema/mentions.ts'
import type { RuleCheck } from '../validate-custom-resource.ts'
import { type CompiledRule, compileRules } from './rule-compiler.ts'

/** Checks a schema's rules; undefined when it has none, so that nothing of CEL is ever loaded. */
export const rulesOf = (schema: JSONSchemaProps): RuleCheck | undefined =>
  hasRules(schema) ? (value, old, at, path) => check({ value, old, path }, at, at === schema) : undefined

const hasRules = (schema: JSONSchemaProps): boolean => mentions(schema, 'x-kubernetes-validations')

interface Position {
  value: unknown
  /** What the value was; undefined when there is no value it descends from. */
  old: unknown
  path: string
}

function check(at: Position, schema: JSONSchemaProps, root = false): FieldError[] {
  const { value, old, path } = at
  if (value === undefined || value === null || !hasRules(schema)) return []
  const own = (schema['x-kubernetes-validations'] ?? []).length > 0 ? checkHere(at, schema, root) : []
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    if (items === undefined) return own
    return [
      ...own,
      ...value.flatMap((item, index) =>
        check({ value: item, old: oldItem(item, old, schema), path: `${path}[${index}]` }, items),
      ),
    ]
  }
  if (!isObject(value)) return own
  const additional = additionalOf(schema)
  const before = isObject(old) ? old : {}
  const below = Object.entries(value).flatMap(([key, field]) => {
    const property = ownProperty(schema.properties, key)
    const child = property ?? additional
    if (child === undefined) return []
    const childPath = property === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    return check({ value: field, old: Object.hasOwn(before, key) ? before[key] : undefined, path: childPath }, child)
  })
  return [...own, ...below]
}

function oldItem(item: unknown, old: unknown, schema: JSONSchemaProps): unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old) || !isObject(item)) return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return old.find((other) => isObject(other) && keys.every((key) => deepEqual(other[key], item[key])))
}

function checkHere({ value, old, path }: Position, schema: JSONSchemaProps, root: boolean): FieldError[] {
  return compileRules(schema, root).rules.flatMap((compiled) => {
    if (!('holds' in compiled)) return []
    if (compiled.usesOldSelf && old === undefined && compiled.rule.optionalOldSelf !== true) return []
    // What did not change is not held against the writer.
    if (!compiled.usesOldSelf && old !== undefined && deepEqual(value, old)) return []
    return checkRule(compiled, { value, old, path }, schema)
  })
}

function checkRule(compiled: CompiledRule, { value, old, path }: Position, schema: JSONSchemaProps): FieldError[] {
  const { rule } = compiled
  try {
    if (compiled.holds(value, old)) return []
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return [
      {
        type: 'FieldValueInvalid',
        field: path || NO_FIELD,
        value: schema.type ?? '',
        detail: `${lowerFirst(why)} evaluating rule: ${rule.rule.trim()}`,
      },
    ]
  }
  const detail = compiled.message(value, old) ?? messageOf(rule)
  return [
    failure((rule.reason ?? 'FieldValueInvalid') as FieldErrorType, {
      value,
      path: `${path}${rule.fieldPath ?? ''}`.replace(/^\./, ''),
      detail,
    }),
  ]
}

function failure(
  type: FieldErrorType,
  { value, path, detail }: { value: unknown; path: string; detail: string },
): FieldError {
  const shown = typeof value === 'object' ? OMITTED : value
  return { type, field: path || NO_FIELD, value: shown, detail }
}

const messageOf = (rule: { rule: string; message?: string }): string =>
  rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
