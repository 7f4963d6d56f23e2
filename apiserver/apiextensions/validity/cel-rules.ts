import { invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { type CompiledRule, compileRules } from '../cel/rule-compiler.ts'
import { parseFieldPath } from '../field-path.ts'
import { additionalOf, itemsOf, type JSONSchemaProps, ownProperty, type ValidationRule } from '../schema/json-schema.ts'
import { printRule } from './internal-form.ts'

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

/** Where a walk over a schema stands. */
interface Place {
  schema: JSONSchemaProps
  path: string
  root: boolean
  /** The part of the schema whose values have no old values; undefined while each has one. */
  uncorrelatable?: string
}

function children({ schema, path, uncorrelatable }: Place): Place[] {
  const items = itemsOf(schema)
  const additional = additionalOf(schema)
  const inItems = uncorrelatable ?? (schema['x-kubernetes-list-type'] === 'map' ? undefined : path)
  return [
    ...(items === undefined ? [] : [{ schema: items, path: `${path}.items`, root: false, uncorrelatable: inItems }]),
    ...(additional === undefined
      ? []
      : [{ schema: additional, path: `${path}.additionalProperties`, root: false, uncorrelatable }]),
    ...Object.entries(schema.properties ?? {}).map(([key, child]) => ({
      schema: child,
      path: `${path}.properties[${key}]`,
      root: false,
      uncorrelatable,
    })),
  ]
}

/** What each x-kubernetes-validations entry must say, wherever it stands in the schema. */
export const validateRuleFields = (schema: JSONSchemaProps, path: string): FieldError[] =>
  fieldErrors({ schema, path, root: true })

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
    errors.push(required(`${path}.message`, 'must be specified if rule contains line breaks'))
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(required(`${path}.messageExpression`, 'must be non-empty if specified'))
  return errors
}

function targetErrors({ reason, fieldPath = '' }: ValidationRule, schema: JSONSchemaProps, path: string): FieldError[] {
  const errors: FieldError[] = []
  const at = `${path}.fieldPath`
  if (reason !== undefined && !REASONS.includes(reason)) errors.push(notSupported(`${path}.reason`, reason, REASONS))
  if (fieldPath !== '' && fieldPath.trim() === '') errors.push(invalid(at, fieldPath, 'must be non-empty if specified'))
  if (LINE_BREAK.test(fieldPath)) errors.push(invalid(at, fieldPath, 'must not contain line breaks'))
  if (fieldPath !== '' && !pathExists(fieldPath, schema)) errors.push(invalid(at, fieldPath, 'must be a valid path'))
  return errors
}

function pathExists(fieldPath: string, schema: JSONSchemaProps): boolean {
  const steps = parseFieldPath(fieldPath)
  if (steps === undefined) return false
  let at: JSONSchemaProps | undefined = schema
  for (const step of steps) at = at === undefined ? undefined : (ownProperty(at.properties, step) ?? additionalOf(at))
  return at !== undefined
}

/**
 * Compiles every rule of a structural schema; what stands above something that is wrong anyway (`known`) is left alone.
 */
export const compileAllRules = (schema: JSONSchemaProps, path: string, known: readonly FieldError[]): FieldError[] =>
  compileErrors({ schema, path, root: true }, known.map(({ field }) => field).sort())

/** `wrong`: fields that are, sorted. */
function compileErrors(place: Place, wrong: readonly string[]): FieldError[] {
  const { schema, path, root, uncorrelatable } = place
  const sound = !hasPrefix(wrong, path)
  const here = sound && (schema['x-kubernetes-validations'] ?? []).length > 0 ? compileRules(schema, root).rules : []
  return [
    ...rulesAt(place).flatMap(({ rule, at }, index) => {
      const compiled = here[index]
      if (compiled === undefined) return []
      if (!('holds' in compiled)) return [invalid(`${at}.${compiled.field}`, printRule(rule), compiled.text)]
      return oldSelfErrors(compiled, at, uncorrelatable)
    }),
    ...children(place).flatMap((child) => compileErrors(child, wrong)),
  ]
}

/** Whether any of the sorted texts begins with the prefix: the first that is not before it would. */
function hasPrefix(sorted: readonly string[], prefix: string): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (sorted[middle]! < prefix) from = middle + 1
    else to = middle
  }
  return sorted[from]?.startsWith(prefix) ?? false
}

function oldSelfErrors(
  { rule, usesOldSelf }: CompiledRule,
  path: string,
  uncorrelatable: string | undefined,
): FieldError[] {
  if (usesOldSelf && uncorrelatable !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`
    return [invalid(`${path}.rule`, rule.rule, detail)]
  }
  if (!usesOldSelf && rule.optionalOldSelf !== undefined)
    return [invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule')]
  return []
}
