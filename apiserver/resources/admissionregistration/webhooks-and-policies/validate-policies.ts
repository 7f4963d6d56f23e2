/** Policies of admission in CEL, and their bindings. Upstream: pkg/apis/admissionregistration/validation. */

import { type PolicyScopes, policyScopes } from '../../../cel/policy-scopes.ts'
import { expressionProblem, type Scope, type Wanted } from '../../../cel/request-expression.ts'
import { duplicate, forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../../validation/label-selector.ts'
import { dns1035Label, dns1123Subdomain, pathSegmentName, qualifiedName } from '../../../validation/names.ts'
import { repetition } from '../../../validation/repetition.ts'
import { reject, validateChoice } from '../../parts/messages.ts'
import { refuseExpression } from './refuse-expression.ts'
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
interface AuditAnnotation {
  key?: string
  valueExpression?: string
}
export interface PolicySpec {
  failurePolicy?: string
  matchConstraints?: MatchResources
  matchConditions?: MatchCondition[]
  paramKind?: { apiVersion?: string; kind?: string }
  variables?: { name?: string; expression?: string }[]
  validations?: Validation[]
  auditAnnotations?: AuditAnnotation[]
}
interface ParamRef {
  name?: string
  namespace?: string
  selector?: LabelSelector
  parameterNotFoundAction?: string
}

const failurePolicies = ['Fail', 'Ignore']
const matchPolicies = ['Equivalent', 'Exact']
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const actions = ['Audit', 'Deny', 'Warn']
const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Validates the fields that validating and mutating policies share. */
function validatePolicyHead(spec: PolicySpec | undefined, { condition }: PolicyScopes, errors: FieldErrors): void {
  const { failurePolicy, matchConstraints, matchConditions = [], paramKind } = spec ?? {}
  if (failurePolicy === undefined) errors.push(required('spec.failurePolicy'))
  else validateChoice(failurePolicy, failurePolicies, 'spec.failurePolicy', errors)
  if (paramKind) validateParamKind(paramKind, errors)
  if (matchConstraints) {
    validateMatchResources(matchConstraints, 'spec.matchConstraints', errors)
    if (!matchConstraints.resourceRules?.length) errors.push(required('spec.matchConstraints.resourceRules'))
  } else errors.push(required('spec.matchConstraints'))
  validateMatchConditions(matchConditions, 'spec.matchConditions', errors, condition)
}

function validateVariables(spec: PolicySpec | undefined, { problems }: PolicyScopes, errors: FieldErrors): void {
  for (const [index, { name = '', expression }] of (spec?.variables ?? []).entries()) {
    const at = `spec.variables[${index}]`
    if (name.trim() === '') errors.push(required(`${at}.name`, 'name is not specified'))
    else if (!identifier.test(name)) errors.push(invalid(`${at}.name`, name, 'must be a valid CEL identifier'))
    if (!expression?.trim()) errors.push(required(`${at}.expression`, 'expression is not specified'))
    else refuseExpression(problems[index], `${at}.expression`, expression, errors)
  }
}

function validateParamKind({ apiVersion, kind }: { apiVersion?: string; kind?: string }, errors: FieldErrors): void {
  const at = 'spec.paramKind'
  if (!apiVersion) errors.push(required(`${at}.apiVersion`))
  else {
    const parts = apiVersion.split('/')
    const [version = '', group = ''] = [...parts].reverse()
    const field = `${at}.apiVersion`
    if (parts.length > 2) errors.push(invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`))
    else {
      const wrongGroup = group === '' ? [] : dns1123Subdomain(group)
      if (wrongGroup.length > 0) errors.push(invalid(field, group, wrongGroup.join()))
      if (version === '') errors.push(invalid(field, apiVersion, 'version must be specified'))
      else if (dns1035Label(version).length > 0) errors.push(invalid(field, version, dns1035Label(version).join()))
    }
  }
  if (!kind) errors.push(required(`${at}.kind`))
  else if (dns1035Label(kind.toLowerCase()).length > 0)
    errors.push(invalid(`${at}.kind`, kind, MIXED_CASE + dns1035Label(kind.toLowerCase()).join()))
}
const MIXED_CASE = 'may have mixed case, but should otherwise match: '

const NOTHING = 'validations or auditAnnotations must contain at least one item'

export function validatePolicySpec(
  { spec, metadata }: { spec?: PolicySpec; metadata: { name?: string } },
  errors: FieldErrors,
): void {
  const scopes = policyScopes(spec ?? {})
  validatePolicyHead(spec, scopes, errors)
  validateVariables(spec, scopes, errors)
  const { validations = [], auditAnnotations = [] } = spec ?? {}
  if (validations.length === 0 && auditAnnotations.length === 0)
    errors.push(required('spec.validations', NOTHING), required('spec.auditAnnotations', NOTHING))
  for (const [index, validation] of validations.entries()) {
    validateValidation(validation, `spec.validations[${index}]`, scopes, errors)
  }
  const isRepeated = repetition()
  for (const [index, annotation] of auditAnnotations.entries()) {
    const at = `spec.auditAnnotations[${index}]`
    validateAuditAnnotation(annotation, metadata.name ?? '', { at, scope: scopes.validation }, errors)
    if (isRepeated(annotation.key ?? '')) errors.push(duplicate(`${at}.key`, annotation.key ?? ''))
  }
}

function validateAuditAnnotation(
  { key = '', valueExpression }: AuditAnnotation,
  name: string,
  { at, scope }: { at: string; scope: Scope },
  errors: FieldErrors,
): void {
  if (name === '') errors.push(invalid(`${at}.key`, key, 'requires metadata.name be non-empty'))
  else
    for (const message of qualifiedName(`${name}/${key}`)) errors.push(invalid(`${at}.key`, `${name}/${key}`, message))
  if (!valueExpression?.trim()) errors.push(required(`${at}.valueExpression`, 'valueExpression is not specified'))
  else {
    const problem = expressionProblem(valueExpression.trim(), 'annotation', scope)
    refuseExpression(problem, `${at}.valueExpression`, valueExpression, errors)
  }
}

function validateValidation(
  { expression, message, messageExpression, reason }: Validation,
  path: string,
  scopes: PolicyScopes,
  errors: FieldErrors,
): void {
  validateExpression(expression, 'bool', { path: `${path}.expression`, scope: scopes.validation }, errors)
  if (messageExpression && messageExpression.trim() === '')
    errors.push(invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified'))
  else if (messageExpression)
    validateExpression(
      messageExpression,
      'string',
      { path: `${path}.messageExpression`, scope: scopes.message },
      errors,
    )
  if (message && message.trim() === '')
    errors.push(invalid(`${path}.message`, message, 'must be non-empty if specified'))
  else if (message && /[\n\r]/.test(message.trim()))
    errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'))
  if (reason !== undefined && !reasons.includes(reason)) errors.push(notSupported(`${path}.reason`, reason, reasons))
}

function validateExpression(
  expression: string | undefined,
  wanted: Wanted,
  { path, scope }: { path: string; scope: Scope },
  errors: FieldErrors,
): void {
  if (!expression?.trim()) {
    errors.push(required(path, 'expression is not specified'))
    return
  }
  refuseExpression(expressionProblem(expression, wanted, scope), path, expression, errors)
}

export function validateMatchResources(
  { matchPolicy, namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] }: MatchResources,
  path: string,
  errors: FieldErrors,
): void {
  validateChoice(matchPolicy, matchPolicies, `${path}.matchPolicy`, errors)
  validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`, errors)
  validateLabelSelector(objectSelector, `${path}.objectSelector`, errors)
  for (const [index, rule] of resourceRules.entries())
    validateNamedRule(rule, `${path}.resourceRules[${index}]`, errors)
  for (const [index, rule] of excludeResourceRules.entries())
    validateNamedRule(rule, `${path}.excludeResourceRules[${index}]`, errors)
}

function validateNamedRule(rule: Rule & { resourceNames?: string[] }, path: string, errors: FieldErrors): void {
  const isRepeated = repetition()
  for (const [index, name] of (rule.resourceNames ?? []).entries()) {
    reject(errors, `${path}.resourceNames[${index}]`, name, pathSegmentName(name))
    if (isRepeated(name)) errors.push(duplicate(`${path}.resourceNames[${index}]`, name))
  }
  validateRule(rule, path, errors)
}

export function validatePolicyName(name: string | undefined, errors: FieldErrors): void {
  if (!name) errors.push(required('spec.policyName'))
  else reject(errors, 'spec.policyName', name, dns1123Subdomain(name))
}

/** A mutating policy has no other than these, and can change no other requests. */
interface Mutation {
  patchType?: string
  jsonPatch?: { expression?: string }
  applyConfiguration?: { expression?: string }
}
const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']
const reinvocations = ['IfNeeded', 'Never']
const patchTypes = ['ApplyConfiguration', 'JSONPatch']
export function validateMutatingPolicySpec(
  spec: (PolicySpec & { mutations?: Mutation[]; reinvocationPolicy?: string }) | undefined,
  errors: FieldErrors,
): void {
  const scopes = policyScopes(spec ?? {}, { always: true })
  const head: FieldErrors = []
  validatePolicyHead(spec, scopes, head)
  const conditions = head.findIndex(({ field }) => field.startsWith('spec.matchConditions'))
  errors.push(...head.splice(0, conditions === -1 ? head.length : conditions))
  for (const { operations } of spec?.matchConstraints?.resourceRules ?? [])
    for (const operation of operations ?? [])
      validateChoice(operation, mutatingOperations, 'spec.matchConstraints.resourceRules.operations', errors)
  errors.push(...head)
  validateVariables(spec, scopes, errors)
  const { mutations = [], reinvocationPolicy } = spec ?? {}
  if (mutations.length === 0) errors.push(required('spec.mutations', 'mutations must contain at least one item'))
  for (const [index, mutation] of mutations.entries())
    validateMutation(mutation, `spec.mutations[${index}]`, scopes.mutation, errors)
  if (!reinvocationPolicy) errors.push(required('spec.reinvocationPolicy'))
  else if (!reinvocations.includes(reinvocationPolicy))
    errors.push(notSupported('spec.reinvocationPolicy', reinvocationPolicy, reinvocations))
}

function validateMutation(mutation: Mutation, at: string, scope: Scope, errors: FieldErrors): void {
  const { patchType } = mutation
  if (!patchType) errors.push(required(`${at}.patchType`))
  else if (!patchTypes.includes(patchType)) errors.push(notSupported(`${at}.patchType`, patchType, patchTypes))
  else {
    const [own, other] = patchType === 'JSONPatch' ? jsonFirst : applyFirst
    const given = mutation[own]
    if (!given) errors.push(required(`${at}.${own}`, `must be specified when patchType is ${patchType}`))
    else if (!given.expression?.trim()) errors.push(required(`${at}.${own}.expression`))
    else {
      const expression = given.expression.trim()
      const problem = expressionProblem(expression, patchType === 'JSONPatch' ? 'patches' : 'Object', scope)
      refuseExpression(problem, `${at}.${own}.expression`, expression, errors)
    }
    if (mutation[other])
      errors.push(invalid(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`))
  }
}
const jsonFirst = ['jsonPatch', 'applyConfiguration'] as const
const applyFirst = ['applyConfiguration', 'jsonPatch'] as const

export function validateValidationActions(
  given: readonly string[] | undefined | null,
  path: string,
  errors: FieldErrors,
): void {
  if (!given?.length) {
    errors.push(required(path, 'at least one validation action is required'))
    return
  }
  const isRepeated = repetition()
  for (const [index, action] of given.entries()) {
    if (!actions.includes(action)) errors.push(notSupported(`${path}[${index}]`, action, actions))
    if (isRepeated(action)) errors.push(duplicate(`${path}[${index}]`, action))
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
  const EXCLUSIVE = 'name and selector are mutually exclusive'
  if (name) reject(errors, `${path}.name`, name, pathSegmentName(name))
  if (name && selector) errors.push(forbidden(`${path}.name`, EXCLUSIVE))
  validateLabelSelector(selector, `${path}.selector`, errors)
  if (name && selector) errors.push(forbidden(`${path}.selector`, EXCLUSIVE))
  if (!name && !selector) errors.push(required(path, 'one of name or selector must be specified'))
  if (!parameterNotFoundAction) errors.push(required(`${path}.parameterNotFoundAction`))
  else if (!['Allow', 'Deny'].includes(parameterNotFoundAction))
    errors.push(notSupported(`${path}.parameterNotFoundAction`, parameterNotFoundAction, ['Deny', 'Allow']))
}
