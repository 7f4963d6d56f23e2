import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'
import { compileRules } from '../cel/rule-compiler.ts'
import { parseFieldPath } from '../field-path.ts'
import { additionalOf, itemsOf, type JSONSchemaProps, ownProperty, type ValidationRule } from '../schema/json-schema.ts'

import { printRule } from './internal-form.ts'

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

/** What each x-kubernetes-validations entry must say, wherever it stands in the schema. `uncorrelatable`: the list whose items have no old value. */
export function validateRules(
  schema: JSONSchemaProps,
  path: string,
  { uncorrelatable, root = true }: { uncorrelatable?: string; root?: boolean } = {},
): FieldError[] {
  const below = { uncorrelatable, root: false }
  const items = itemsOf(schema)
  const additional = additionalOf(schema)
  const itemsLost = uncorrelatable ?? (schema['x-kubernetes-list-type'] === 'map' ? undefined : path)
  return [
    ...(schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) => {
      const at = `${path}.x-kubernetes-validations[${index}]`
      const errors = validateRule(rule, schema, at, uncorrelatable)
      return errors.some((error) => error.field === `${at}.rule`)
        ? errors
        : [...errors, ...compileErrors({ rule, index, root }, schema, at)]
    }),
    ...(items === undefined ? [] : validateRules(items, `${path}.items`, { uncorrelatable: itemsLost, root: false })),
    ...(additional === undefined ? [] : validateRules(additional, `${path}.additionalProperties`, below)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
      validateRules(child, `${path}.properties[${key}]`, below),
    ),
    ...nestedRules(schema, path),
  ]
}

/** Rules stand outside of anyOf and its like. */
function nestedRules(schema: JSONSchemaProps, path: string): FieldError[] {
  const branches: [string, JSONSchemaProps][] = [
    ...(['allOf', 'anyOf', 'oneOf'] as const).flatMap((name) =>
      (schema[name] ?? []).map((branch, index): [string, JSONSchemaProps] => [`${name}[${index}]`, branch]),
    ),
    ...(schema.not === undefined ? [] : [['not', schema.not] as [string, JSONSchemaProps]]),
  ]
  return branches.flatMap(([name, branch]) =>
    branch['x-kubernetes-validations'] === undefined
      ? []
      : [forbidden(`${path}.${name}.x-kubernetes-validations`, 'must be empty to be structural')],
  )
}

function validateRule(
  rule: ValidationRule,
  schema: JSONSchemaProps,
  path: string,
  uncorrelatable: string | undefined,
): FieldError[] {
  const errors: FieldError[] = []
  const text = rule.rule.trim()
  if (text === '') errors.push(required(`${path}.rule`, 'rule is not specified'))
  if (rule.message !== undefined && rule.message !== '' && rule.message.trim() === '')
    errors.push(invalid(`${path}.message`, rule.message, 'must be non-empty if specified'))
  else if (/[\r\n]/.test(rule.message?.trim() ?? ''))
    errors.push(invalid(`${path}.message`, rule.message, 'must not contain line breaks'))
  else if (/[\r\n]/.test(text) && !rule.message)
    errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'))
  if (rule.messageExpression !== undefined && rule.messageExpression !== '' && rule.messageExpression.trim() === '')
    errors.push(required(`${path}.messageExpression`, 'must be non-empty if specified'))
  if (rule.reason !== undefined && !REASONS.includes(rule.reason))
    errors.push(notSupported(`${path}.reason`, rule.reason, REASONS))
  if (rule.fieldPath !== undefined && rule.fieldPath !== '' && !pathExists(rule.fieldPath, schema))
    errors.push(invalid(`${path}.fieldPath`, rule.fieldPath, 'must be a valid path'))
  const usesOldSelf = /\boldSelf\b/.test(text)
  if (rule.optionalOldSelf !== undefined && !usesOldSelf)
    errors.push(
      invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    )
  if (usesOldSelf && uncorrelatable !== undefined && rule.optionalOldSelf === undefined)
    errors.push(
      invalid(
        `${path}.rule`,
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`,
      ),
    )
  return errors
}

function compileErrors(
  { rule, index, root }: { rule: ValidationRule; index: number; root: boolean },
  schema: JSONSchemaProps,
  path: string,
): FieldError[] {
  const compiled = compileRules(schema, root).rules[index]
  return compiled === undefined || 'holds' in compiled
    ? []
    : [invalid(`${path}.${compiled.field}`, printRule(rule), compiled.text)]
}

function pathExists(fieldPath: string, schema: JSONSchemaProps): boolean {
  const steps = parseFieldPath(fieldPath)
  if (steps === undefined) return false
  let at: JSONSchemaProps | undefined = schema
  for (const step of steps) at = at === undefined ? undefined : (ownProperty(at.properties, step) ?? additionalOf(at))
  return at !== undefined
}
