import { times } from '../../cel/cost/ranges.ts'
import { cardinality, type SchemaSize, schemaSize } from '../../cel/cost/schema-size.ts'
import { escapeName } from '../../cel/escape.ts'
import { additionalOf, itemsOf, type JSONSchemaProps, type ValidationRule } from '../../schema/json-schema.ts'
import { forbidden, internal, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { type CompiledRule, compileRules, ruleReasons, shownFieldPath } from '../cel/rule-compiler.ts'
import { exceedsBudget, MAX_RULE_COST, TotalCost } from './cel-cost.ts'
import { printRule } from './internal-form.ts'

/** Marks where a walk over a schema stands. */
interface Place {
  schema: JSONSchemaProps
  path: string
  root: boolean
  /** Bounds the size of values of the schema; undefined where expressions do not see them. */
  size?: SchemaSize
  /** Bounds how many values of the schema an object has; undefined if nothing bounds them. */
  most: number | undefined
  /** The part of the schema whose values have no old values; undefined while each has one. */
  uncorrelatable?: string
}

/** Returns the parts of a schema in upstream's order of errors. */
function children({ schema, path, uncorrelatable, size, most: above }: Place): Place[] {
  const items = itemsOf(schema)
  const additional = additionalOf(schema)
  const inItems = uncorrelatable ?? (schema['x-kubernetes-list-type'] === 'map' ? undefined : path)
  const within = elementsOf(schema)
  const most = above === undefined || within === undefined ? undefined : times(above, within)
  const place = (child: JSONSchemaProps, step: string, known: SchemaSize | undefined): Place => ({
    schema: child,
    path: path + step,
    root: false,
    size: size && known,
    most,
    uncorrelatable,
  })
  return [
    ...(additional === undefined ? [] : [place(additional, '.additionalProperties', size?.entries)]),
    ...Object.entries(schema.properties ?? {}).map(([key, child]) =>
      place(child, `.properties[${key}]`, size?.fields?.get(escapeName(key) ?? '')),
    ),
    ...(items === undefined ? [] : [{ ...place(items, '.items', size?.items), uncorrelatable: inItems }]),
  ]
}
/** Returns how many parts a value of the schema has at most; undefined if nothing bounds them. */
function elementsOf({ type, maxItems, maxProperties, additionalProperties }: JSONSchemaProps): number | undefined {
  const bound =
    type === 'array' ? maxItems : type === 'object' && additionalProperties !== undefined ? maxProperties : 1
  return bound === undefined ? undefined : Math.max(0, bound)
}

/** Validates the fields of every x-kubernetes-validations rule in the schema, at any depth. */
export const validateRuleFields = (schema: JSONSchemaProps, path: string): FieldError[] =>
  fieldErrors({ schema, path, root: true, most: 1 })

const fieldErrors = (place: Place): FieldError[] => [
  ...rulesAt(place).flatMap(({ rule, at }) => [...textErrors(rule, at), ...targetErrors(rule, place.schema, at)]),
  ...children(place).flatMap(fieldErrors),
]

const rulesAt = ({ schema, path }: Place): { rule: ValidationRule; at: string }[] =>
  (schema['x-kubernetes-validations'] ?? []).map((rule, index) => ({
    rule,
    at: `${path}.x-kubernetes-validations[${index}]`,
  }))

const LINE_BREAK = /[\r\n]/
function textErrors({ rule, message = '', messageExpression = '' }: ValidationRule, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (rule.trim() === '') errors.push(required(`${path}.rule`, 'rule is not specified'))
  else if (message !== '' && message.trim() === '')
    errors.push(invalid(`${path}.message`, message, 'must be non-empty if specified'))
  else if (LINE_BREAK.test(message.trim()))
    errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'))
  else if (LINE_BREAK.test(rule.trim()) && message === '')
    errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'))
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'))
  return errors
}

function targetErrors({ reason, fieldPath = '' }: ValidationRule, schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  const at = `${path}.fieldPath`
  if (reason !== undefined && !ruleReasons.some((known) => known === reason))
    errors.push(notSupported(`${path}.reason`, reason, ruleReasons))
  if (fieldPath !== '' && fieldPath.trim() === '') errors.push(invalid(at, fieldPath, 'must be non-empty if specified'))
  if (LINE_BREAK.test(fieldPath)) errors.push(invalid(at, fieldPath, 'must not contain line breaks'))
  if (fieldPath !== '' && shownFieldPath(fieldPath, schema) === undefined)
    errors.push(invalid(at, fieldPath, 'must be a valid path'))
  return errors
}

/**
 * Compiles every rule of a structural schema, and estimates its cost; what stands above something that is wrong anyway
 * (`known`) is left alone. `unchanged`: the schema was accepted before, so that its rules may cost what they did.
 */
export function compileAllRules(
  schema: JSONSchemaProps,
  path: string,
  known: readonly FieldError[],
  unchanged: boolean,
): FieldError[] {
  const total = new TotalCost()
  const wrong = known.map(({ field }) => field).sort()
  const root: Place = { schema, path, root: true, size: schemaSize(schema, true), most: 1 }
  return [...compileErrors(root, { wrong, total, unchanged }), ...total.errors(path)]
}

interface Walk {
  /** Fields that are wrong, sorted. */
  wrong: readonly string[]
  total: TotalCost
  unchanged: boolean
}
function compileErrors(place: Place, walk: Walk): FieldError[] {
  const { schema, path, root } = place
  const below = children(place).flatMap((child) => compileErrors(child, walk))
  const rules = rulesAt(place)
  if (rules.length === 0 || hasPrefix(walk.wrong, path)) return below
  const ownSize = schemaSize(schema, root)
  if (ownSize === undefined) return [...below, internal(`${path}.x-kubernetes-validations`, hasNoType)]
  const size = place.size ?? ownSize
  const here = compileRules(schema, root, size).rules
  const most = place.most ?? (size === undefined ? 1 : cardinality(size))
  return [
    ...below,
    ...rules.flatMap(({ rule, at }, index) => {
      const compiled = here[index]!
      const expensive = costErrors(compiled, at, most, walk)
      if (!('holds' in compiled))
        return [
          ...expensive,
          invalid(`${at}.${compiled.field}`, printRule(rule), compiled.text),
          ...unusedOptional(rule, at),
        ]
      return [...expensive, ...oldSelfErrors(compiled, at, place.uncorrelatable)]
    }),
  ]
}

function costErrors(
  { cost = 0, messageCost }: Pick<CompiledRule, 'cost' | 'messageCost'>,
  at: string,
  most: number,
  walk: Walk,
): FieldError[] {
  const of = (field: string, units: number, what: string): FieldError[] => {
    walk.total.add(`${at}.${field}`, units)
    return units > MAX_RULE_COST && !walk.unchanged
      ? [forbidden(`${at}.${field}`, exceedsBudget(what, units, MAX_RULE_COST))]
      : []
  }
  return [
    ...of('rule', times(cost, most), 'estimated rule cost'),
    ...(messageCost === undefined ? [] : of('messageExpression', messageCost, 'estimated messageExpression cost')),
  ]
}

const hasNoType =
  'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations'

/** Returns whether any of the sorted texts begins with the prefix: the first one that does not sort before it would. */
function hasPrefix(sorted: readonly string[], prefix: string): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (sorted[middle]! < prefix) from = middle + 1
    else to = middle
  }
  return sorted[from]?.startsWith(prefix) ?? false
}

/** A rule that cannot be compiled uses nothing. */
const unusedOptional = ({ optionalOldSelf }: ValidationRule, path: string): FieldError[] =>
  optionalOldSelf === undefined
    ? []
    : [invalid(`${path}.optionalOldSelf`, optionalOldSelf, 'may not be set if oldSelf is not used in rule')]

function oldSelfErrors(
  { rule, usesOldSelf }: CompiledRule,
  path: string,
  uncorrelatable: string | undefined,
): FieldError[] {
  if (usesOldSelf && uncorrelatable !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`
    return [invalid(`${path}.rule`, rule.rule, detail)]
  }
  return usesOldSelf ? [] : unusedOptional(rule, path)
}
