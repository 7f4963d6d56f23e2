/** Policies of admission in CEL, and their bindings. Upstream: pkg/apis/admissionregistration/validation. */

import { expressionProblem, policyVariables } from '../../admission/cel/expression.ts'
import { duplicate, forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { repetition } from '../../validation/repetition.ts'
import { type MatchCondition, validateMatchConditions } from './validate-match-conditions.ts'
import { validateRule } from './validate-rules.ts'

type Rule = Parameters<typeof validateRule>[0]
export interface MatchResources {
  matchPolicy?: string
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  resourceRules?: Rule[]
  excludeResourceRules?: Rule[]
}
interface Validation {
  expression?: string
  message?: string
  messageExpression?: string
  reason?: string
}
export interface PolicySpec {
  failurePolicy?: string
  matchConstraints?: MatchResources
  matchConditions?: MatchCondition[]
  paramKind?: { apiVersion?: string; kind?: string }
  variables?: { name?: string; expression?: string }[]
  validations?: Validation[]
  auditAnnotations?: unknown[]
}
interface ParamRef {
  name?: string
  namespace?: string
  selector?: LabelSelector
  parameterNotFoundAction?: string
}

const failurePolicies = ['Fail', 'Ignore']
const matchPolicies = ['Equivalent', 'Exact']
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized']
const actions = ['Audit', 'Deny', 'Warn']
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

export function validatePolicySpec(spec: PolicySpec | undefined, errors: FieldErrors): void {
  const {
    failurePolicy,
    matchConstraints,
    matchConditions = [],
    paramKind,
    variables = [],
    validations = [],
  } = spec ?? {}
  if (failurePolicy !== undefined && !failurePolicies.includes(failurePolicy))
    errors.push(notSupported('spec.failurePolicy', failurePolicy, failurePolicies))
  if (paramKind && !paramKind.apiVersion) errors.push(required('spec.paramKind.apiVersion'))
  if (paramKind && !paramKind.kind) errors.push(required('spec.paramKind.kind'))
  if (matchConstraints) validateMatchResources(matchConstraints, 'spec.matchConstraints', errors)
  else errors.push(required('spec.matchConstraints'))
  validateMatchConditions(matchConditions, 'spec.matchConditions', errors, policyVariables)
  for (const [index, { name = '', expression }] of variables.entries()) {
    const at = `spec.variables[${index}]`
    if (name === '') errors.push(required(`${at}.name`, 'name is not specified'))
    else if (!identifier.test(name)) errors.push(invalid(`${at}.name`, name, 'name is not a valid CEL identifier'))
    validateExpression(expression, undefined, `${at}.expression`, errors)
  }
  if (validations.length === 0 && !spec?.auditAnnotations?.length)
    errors.push(required('spec.validations', 'validations or auditAnnotations must be non-empty'))
  for (const [index, validation] of validations.entries()) {
    validateValidation(validation, `spec.validations[${index}]`, errors)
  }
}

function validateValidation(
  { expression, message, messageExpression, reason }: Validation,
  path: string,
  errors: FieldErrors,
): void {
  validateExpression(expression, 'bool', `${path}.expression`, errors)
  if (messageExpression !== undefined)
    validateExpression(messageExpression, 'string', `${path}.messageExpression`, errors)
  if (message !== undefined && message !== '' && message.trim() === '')
    errors.push(invalid(`${path}.message`, message, 'message must be non-empty if specified'))
  else if (message?.trim().includes('\n'))
    errors.push(invalid(`${path}.message`, message, 'message must not contain line breaks'))
  else if (!message && expression?.includes('\n'))
    errors.push(required(`${path}.message`, 'message must be specified if expression contains line breaks'))
  if (reason !== undefined && !reasons.includes(reason)) errors.push(notSupported(`${path}.reason`, reason, reasons))
}

function validateExpression(
  expression: string | undefined,
  wanted: string | undefined,
  path: string,
  errors: FieldErrors,
): void {
  if (!expression?.trim()) {
    errors.push(required(path, 'expression is not specified'))
    return
  }
  const problem = expressionProblem(expression, wanted, policyVariables)
  if (problem !== undefined) errors.push(invalid(path, expression, problem))
}

export function validateMatchResources(
  { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] }: MatchResources,
  path: string,
  errors: FieldErrors,
): void {
  if (matchPolicy !== undefined && !matchPolicies.includes(matchPolicy))
    errors.push(notSupported(`${path}.matchPolicy`, matchPolicy, matchPolicies))
  validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`, errors)
  validateLabelSelector(objectSelector, `${path}.objectSelector`, errors)
  for (const [index, rule] of resourceRules.entries()) validateRule(rule, `${path}.resourceRules[${index}]`, errors)
  for (const [index, rule] of excludeResourceRules.entries())
    validateRule(rule, `${path}.excludeResourceRules[${index}]`, errors)
}

export function validateValidationActions(
  given: readonly string[] | undefined | null,
  path: string,
  errors: FieldErrors,
): void {
  if (!given?.length) {
    errors.push(required(path))
    return
  }
  const isRepeated = repetition()
  for (const [index, action] of given.entries()) {
    if (!actions.includes(action)) errors.push(notSupported(`${path}[${index}]`, action, actions))
    else if (isRepeated(action)) errors.push(duplicate(`${path}[${index}]`, action))
  }
  if (given.includes('Deny') && given.includes('Warn'))
    errors.push(
      invalid(
        path,
        given,
        'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ),
    )
}

export function validateParamRef(
  { name, selector, parameterNotFoundAction }: ParamRef,
  path: string,
  errors: FieldErrors,
): void {
  if (!name && !selector) errors.push(required(path, 'one of name or selector must be specified'))
  if (name && selector) errors.push(forbidden(`${path}.name`, 'name and selector are mutually exclusive'))
  validateLabelSelector(selector, `${path}.selector`, errors)
  if (!parameterNotFoundAction) errors.push(required(`${path}.parameterNotFoundAction`))
  else if (!['Allow', 'Deny'].includes(parameterNotFoundAction))
    errors.push(notSupported(`${path}.parameterNotFoundAction`, parameterNotFoundAction, ['Allow', 'Deny']))
}
