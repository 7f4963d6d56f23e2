import { estimateCost } from '../../cel/cost/estimator.ts'
import type { SchemaSize } from '../../cel/cost/schema-size.ts'
import { compile, type Program, type Variables } from '../../cel/environment.ts'
import { limitOf } from '../../cel/errors.ts'
import { type SchemaType, schemaType } from '../../cel/json-values.ts'
import type { Budget } from '../../cel/meter.ts'
import { BOOL, type CelType, DYN, optionalOf, STRING } from '../../cel/types.ts'
import { Optional } from '../../cel/values.ts'
import { additionalOf, type JSONSchemaProps, ownProperty, type ValidationRule } from '../../schema/json-schema.ts'
import { parseFieldPath } from '../field-path.ts'

/** The types of error that a rule may name as its reason. */
export const ruleReasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
] as const

export interface CompiledRule {
  rule: ValidationRule
  /** The most that the rule and its messageExpression cost for one value; set if the schema's size was given. */
  cost?: number
  messageCost?: number
  usesOldSelf: boolean
  /** The rule's fieldPath as messages name it: `.spec['a']` is `spec.a`; '' when the schema has no such field. */
  fieldPath: string
  /** Throws what the expression throws. */
  holds(self: unknown, old: unknown, budget: Budget): boolean
  /** Evaluates messageExpression. Returns undefined if the rule has none, or if it yields no usable text. */
  message(self: unknown, old: unknown, budget: Budget): string | OutOfBudget | undefined
}
/**
 * Stops the validation of an object's rules, because the cost budget is spent; `outOfBudget` is the message for the
 * client.
 */
export interface OutOfBudget {
  outOfBudget: string
}
export interface CompileFailure {
  /** Holds the rule's cost if only its messageExpression is wrong. */
  cost?: number
  field: 'rule' | 'messageExpression'
  text: string
}
/** Holds the compiled rules of one schema, without those of the schemas below it. */
export interface CompiledSchema {
  /** A value as rules see it. */
  convert(value: unknown): unknown
  rules: (CompiledRule | CompileFailure)[]
}

const cache = new WeakMap<JSONSchemaProps, CompiledSchema>()

/**
 * Compiles the rules of a schema, once. If `size` (the size of the schema's values) is given, the result also has the
 * highest cost of each rule.
 */
export function compileRules(schema: JSONSchemaProps, root: boolean, size?: SchemaSize): CompiledSchema {
  const known = size === undefined ? cache.get(schema) : undefined
  if (known !== undefined) return known
  const compiled = compileSchema(schema, root, size)
  cache.set(schema, compiled)
  return compiled
}

let types = 0
const DYNAMIC: SchemaType = { type: DYN, convert: (value) => value }

function compileSchema(schema: JSONSchemaProps, root: boolean, size: SchemaSize | undefined): CompiledSchema {
  const { type, convert } = schemaType(schema, `selfType${++types}`, root) ?? DYNAMIC
  const plain = variables(type, type)
  const optional = variables(type, optionalOf(type))
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) =>
    compileRule(rule, schema, rule.optionalOldSelf === true ? optional : plain, size),
  )
  return { convert, rules }
}
const variables = (self: CelType, oldSelf: CelType): Variables =>
  new Map([
    ['self', self],
    ['oldSelf', oldSelf],
  ])

function compileRule(
  rule: ValidationRule,
  schema: JSONSchemaProps,
  variables: Variables,
  size: SchemaSize | undefined,
): CompiledRule | CompileFailure {
  const compiled = compile(rule.rule, variables)
  if ('phase' in compiled)
    return {
      field: 'rule',
      text: `${compiled.phase === 'instantiation' ? 'program ' : ''}${compiled.phase} failed: ${compiled.text}`,
    }
  if (compiled.type !== BOOL) return { field: 'rule', text: 'cel expression must evaluate to a bool' }
  const cost = size && estimateCost(compiled.expr, size)
  const message = rule.messageExpression?.trim() ? compile(rule.messageExpression, variables) : undefined
  if (message !== undefined && 'phase' in message)
    return { cost, field: 'messageExpression', text: `messageExpression ${message.phase} failed: ${message.text}` }
  if (message !== undefined && message.type !== STRING)
    return { cost, field: 'messageExpression', text: 'messageExpression must evaluate to a string' }
  // The tree of the expression is garbage after this: what runs later holds no more than the programs.
  const { program, used } = compiled
  const messageProgram = message?.program
  return {
    rule,
    cost,
    messageCost: size && message && estimateCost(message.expr, size),
    usesOldSelf: used.has('oldSelf'),
    fieldPath: shownFieldPath(rule.fieldPath ?? '', schema) ?? '',
    holds: (self, old, budget) => program(seen(rule, self, old), budget) === true,
    message: (self, old, budget) =>
      messageProgram && messageOf(messageProgram, seen(rule, self, old), budget, rule.messageExpression ?? ''),
  }
}
function seen(rule: ValidationRule, self: unknown, old: unknown): Record<string, unknown> {
  if (rule.optionalOldSelf === true) return { self, oldSelf: old === undefined ? Optional.none : new Optional(old) }
  return old === undefined ? { self } : { self, oldSelf: old }
}

/**
 * Returns the path as messages show it: fields follow a dot, keys of maps stand in brackets. Returns undefined if the
 * schema has no such field.
 */
export function shownFieldPath(fieldPath: string, schema: JSONSchemaProps): string | undefined {
  const steps = parseFieldPath(fieldPath)
  if (steps === undefined) return undefined
  let at: JSONSchemaProps | undefined = schema
  let shown = ''
  for (const step of steps) {
    const field: JSONSchemaProps | undefined = at && ownProperty(at.properties, step)
    shown += field ? `.${step}` : `[${step}]`
    at = field ?? (at && additionalOf(at))
  }
  return at && shown.replace(/^\./, '')
}

const MAX_MESSAGE = 5120
/** A message that is empty, too long, of several lines, or fails is none. */
function messageOf(
  program: Program,
  seen: Record<string, unknown>,
  budget: Budget,
  source: string,
): string | OutOfBudget | undefined {
  try {
    const text = String(program(seen, budget)).trim()
    if (budget.isExceeded) return { outOfBudget: MESSAGE_OUT_OF_BUDGET }
    return text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE ? text : undefined
  } catch (error) {
    if (budget.isExceeded) return { outOfBudget: MESSAGE_OUT_OF_BUDGET }
    if (limitOf(error) === undefined) return undefined
    budget.exhaust()
    return {
      outOfBudget: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(source)}`,
    }
  }
}
const MESSAGE_OUT_OF_BUDGET =
  'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
