import { ownValue } from '../../../shared/api/json/own-value.ts'
import { limitOf } from '../../cel/errors.ts'
import { Budget, OUT_OF_BUDGET } from '../../cel/meter.ts'
import { correlation } from '../../schema/correlation.ts'
import { NO_FIELD } from '../../schema/field-error.ts'
import {
  additionalOf,
  isObject,
  itemsOf,
  type JSONSchemaProps,
  ownProperty,
  type ValidationRule,
} from '../../schema/json-schema.ts'
import { mentions } from '../../schema/mentions.ts'
import { errorBody, OMITTED } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import type { RuleCheck } from '../validate-custom-resource.ts'
import { type CompiledRule, type CompileFailure, compileRules, ruleReasons } from './rule-compiler.ts'

/**
 * Returns the check of a schema's rules, each of whose evaluations may cost `celSteps`. Returns undefined if the schema
 * has no rules, so that nothing of CEL is ever loaded.
 */
export const rulesOf = (schema: JSONSchemaProps, celSteps: number): RuleCheck | undefined =>
  hasRules(schema)
    ? (value, old, at, path, warn = () => {}) =>
        check(
          { value, old, path, before: new Before(value, old), budget: Budget.forObject(celSteps), warn },
          at,
          at === schema,
        )
    : undefined

const hasRules = (schema: JSONSchemaProps): boolean => mentions(schema, 'x-kubernetes-validations')

/** A value and what it was: one that did not change is not held against the writer. */
class Before {
  readonly #value: unknown
  readonly #old: unknown
  #same: boolean | undefined
  constructor(value: unknown, old: unknown) {
    this.#value = value
    this.#old = old
  }
  get isSame(): boolean {
    this.#same ??= this.#old !== undefined && deepEqual(this.#value, this.#old)
    return this.#same
  }
}

interface Position {
  value: unknown
  /** Holds the value before; undefined if the value descends from none. */
  old: unknown
  path: string
  /** Belongs to the value, or to the nearest one around it that has an old value. */
  before: Before
  /** Pays for all rules of the object. */
  budget: Budget
  /** Receives what breaks a rule and did not change. */
  warn(text: string): void
}

function check(at: Position, schema: JSONSchemaProps, root = false): FieldError[] {
  const { value } = at
  if (value === undefined || value === null || !hasRules(schema) || at.budget.isExceeded) return []
  const own = (schema['x-kubernetes-validations'] ?? []).length > 0 ? checkHere(at, schema, root) : []
  if (Array.isArray(value)) return [...own, ...checkItems(at, value, schema)]
  return isObject(value) ? [...own, ...checkFields(at, value, schema)] : own
}

const below = (parent: Position, value: unknown, old: unknown, path: string): Position => ({
  value,
  old,
  path,
  before: old === undefined ? parent.before : new Before(value, old),
  budget: parent.budget,
  warn: parent.warn,
})

function checkItems(at: Position, items: unknown[], schema: JSONSchemaProps): FieldError[] {
  const itemSchema = itemsOf(schema)
  if (itemSchema === undefined) return []
  const oldItem = correlation(schema, at.old)
  return items.flatMap((item, index) => check(below(at, item, oldItem(item), `${at.path}[${index}]`), itemSchema))
}

function checkFields(at: Position, value: Record<string, unknown>, schema: JSONSchemaProps): FieldError[] {
  const additional = additionalOf(schema)
  const before = isObject(at.old) ? at.old : {}
  return Object.entries(value).flatMap(([key, field]) => {
    const property = ownProperty(schema.properties, key)
    const child = property ?? additional
    if (child === undefined) return []
    const path = property === undefined ? `${at.path}[${key}]` : at.path === '' ? key : `${at.path}.${key}`
    return check(below(at, field, ownValue(before, key), path), child)
  })
}

function checkHere(at: Position, schema: JSONSchemaProps, root: boolean): FieldError[] {
  const { value, old, path, budget } = at
  const { convert, rules } = compileRules(schema, root)
  if (budget.isEmpty) return [lastError(at, schema, OUT_OF_BUDGET)]
  const self = convert(value)
  const oldSelf = old === undefined || old === null ? undefined : convert(old)
  return rules.flatMap((compiled, index) => {
    if (budget.isExceeded) return []
    if (!('holds' in compiled)) return compileError(compiled, at, schema, index)
    if (compiled.usesOldSelf && oldSelf === undefined && compiled.rule.optionalOldSelf !== true) return []
    try {
      const holds = compiled.holds(self, oldSelf, budget)
      if (budget.isExceeded) return [lastError(at, schema, OUT_OF_BUDGET)]
      if (holds) return []
    } catch (error) {
      if (budget.isExceeded) return [lastError(at, schema, OUT_OF_BUDGET, error)]
      if (limitOf(error)) budget.exhaust()
      return [evaluationError(error, compiled.rule, path, schema)]
    }
    return brokenRule(at, compiled, schema, { self, oldSelf })
  })
}

/** A rule with a mistake is stored nowhere: it is met in the check of the defaults of a new definition. */
function compileError(
  { field, text }: CompileFailure,
  { path }: Position,
  schema: JSONSchemaProps,
  index: number,
): FieldError[] {
  const isEmpty = schema['x-kubernetes-validations']![index]!.rule.trim() === ''
  if (field !== 'rule' || isEmpty) return []
  const detail = `rule compile error: ${text}`
  return [{ type: 'FieldValueInvalid', field: path || NO_FIELD, value: schema.type ?? '', detail }]
}

function brokenRule(
  at: Position,
  compiled: CompiledRule,
  schema: JSONSchemaProps,
  { self, oldSelf }: { self: unknown; oldSelf: unknown },
): FieldError[] {
  const { value, path, before, budget, warn } = at
  const error = failure(compiled, { path, shown: isSimple(schema) ? value : OMITTED, self, oldSelf, budget }, schema)
  if (compiled.usesOldSelf || !before.isSame) return [error]
  warn(`${error.field}: ${errorBody(error)}`)
  return []
}

/** No rule of the object runs after it. */
function lastError({ path, budget }: Position, schema: JSONSchemaProps, detail: string, error?: unknown): FieldError {
  budget.exhaust()
  return errorAt(path, schema, detail, error)
}

function errorAt(path: string, schema: JSONSchemaProps, detail: string, cause: unknown): FieldError {
  const limit = limitOf(cause)
  return {
    type: 'FieldValueInvalid',
    field: path || NO_FIELD,
    value: schema.type ?? '',
    detail,
    ...(limit && { limit }),
  }
}

const isSimple = ({ type }: JSONSchemaProps): boolean => type !== 'object' && type !== 'array'

function evaluationError(error: unknown, rule: ValidationRule, path: string, schema: JSONSchemaProps): FieldError {
  const why = error instanceof Error ? error.message : String(error)
  const said = rule.message?.trim() || rule.rule.trim()
  const detail = why.startsWith('no such overload')
    ? `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${said}`
    : why.startsWith('operation cancelled')
      ? `'${why}': no further validation rules will be run due to call cost exceeds limit for rule: ${said}`
      : `${why} evaluating rule: ${said}`
  return errorAt(path, schema, detail, error)
}

function failure(
  { rule, fieldPath, message }: CompiledRule,
  seen: { path: string; shown: unknown; self: unknown; oldSelf: unknown; budget: Budget },
  schema: JSONSchemaProps,
): FieldError {
  const field = [seen.path, fieldPath].filter((part) => part !== '').join('.') || NO_FIELD
  const said = message(seen.self, seen.oldSelf, seen.budget)
  if (typeof said === 'object')
    return { type: 'FieldValueInvalid', field, value: schema.type ?? '', detail: said.outOfBudget }
  return {
    type: ruleReasons.find((reason) => reason === rule.reason) ?? 'FieldValueInvalid',
    field,
    value: seen.shown,
    detail: said ?? messageOf(rule),
  }
}

const messageOf = (rule: ValidationRule): string => rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
