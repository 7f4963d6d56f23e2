import { isNegativeQuantity, isZeroQuantity } from '../../../../shared/api/quantities/quantity.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Label, pathSegmentName } from '../../../validation/names.ts'
import { validateContainerResourceName } from '../../parts/container-resource-names.ts'
import { NOT_NEGATIVE, reject, validateChoice } from '../../parts/messages.ts'
import type { Autoscaler, AutoscalerSpec, Metric } from './types.ts'

/**
 * Validates an autoscaler. For an update, `old` is the object before: wrong apiVersions that `old` has already are no
 * error, and minReplicas may stay 0.
 */
export function validateAutoscaler(
  { spec }: Pick<Autoscaler, 'spec'>,
  errors: FieldErrors,
  old?: Pick<Autoscaler, 'spec'>,
): void {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics = [], behavior } = spec ?? {}
  const least = old?.spec?.minReplicas === 0 ? 0 : 1
  if (minReplicas !== undefined && minReplicas < least)
    errors.push(invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`))
  if (maxReplicas === 0) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'))
  else if (maxReplicas < 0) errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'))
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'))
  validateReference(
    scaleTargetRef,
    'spec.scaleTargetRef',
    targetRule(scaleTargetRef, old?.spec?.scaleTargetRef),
    errors,
  )
  const described = old?.spec?.metrics?.some(({ object }) => object && apiVersionProblem(object.describedObject, 'any'))
    ? undefined
    : 'any'
  for (const [index, metric] of metrics.entries()) validateMetric(metric, `spec.metrics[${index}]`, described, errors)
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    errors.push(forbidden('spec.metrics', NO_METRIC_FOR_ZERO))
  for (const direction of ['scaleUp', 'scaleDown'] as const)
    validateRules(behavior?.[direction], `spec.behavior.${direction}`, errors)
}
const NO_METRIC_FOR_ZERO = 'must specify at least one Object or External metric to support scaling to zero replicas'

interface Reference {
  kind?: string
  name?: string
  apiVersion?: string
}
/** Says which groups an apiVersion may name; undefined if it is not looked at. */
type GroupRule = 'named' | 'any' | undefined

function targetRule(target: Reference | undefined, old: Reference | undefined): GroupRule {
  if (old && old.apiVersion === target?.apiVersion && old.kind === target?.kind) return undefined
  // The only kind of the core group that scales.
  return target?.kind === 'ReplicationController' ? 'any' : 'named'
}

function apiVersionProblem({ apiVersion = '' }: Reference, rule: GroupRule): string | undefined {
  if (rule === undefined) return undefined
  const parts = apiVersion.split('/')
  if (parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`
  const hasGroup = parts.length === 2 && parts[0] !== ''
  return rule === 'named' && !hasGroup ? 'apiVersion must specify API group' : undefined
}

function validateReference(reference: Reference = {}, at: string, rule: GroupRule, errors: FieldErrors): void {
  for (const field of ['kind', 'name'] as const) {
    const text = reference[field]
    if (!text) errors.push(required(`${at}.${field}`))
    else reject(errors, `${at}.${field}`, text, pathSegmentName(text))
  }
  const problem = apiVersionProblem(reference, rule)
  if (problem) errors.push(invalid(`${at}.apiVersion`, reference.apiVersion ?? '', problem))
}

/** Metric type → the field that describes it. */
const sources = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const
/** The sources of metrics, in the order in which upstream looks at them. */
const order = ['object', 'external', 'pods', 'resource', 'containerResource'] as const
const types = Object.keys(sources)

function validateMetric(metric: Metric, at: string, rule: GroupRule, errors: FieldErrors): void {
  const { type = '' } = metric
  if (!type) errors.push(required(`${at}.type`, 'must specify a metric source type'))
  const expected = Object.hasOwn(sources, type) ? sources[type as keyof typeof sources] : undefined
  if (!expected) errors.push(notSupported(`${at}.type`, type, types))
  const given = order.filter((name) => metric[name] !== undefined)
  if (given[0]) validateSource(metric, given[0], `${at}.${given[0]}`, rule, errors)
  if (!expected) errors.push(notSupported(`${at}.type`, type, types))
  else if (metric[expected] === undefined)
    errors.push(required(`${at}.${expected}`, 'must populate information for the given metric source'))
  if (given.length === 1) return
  for (const name of given)
    if (name !== expected) errors.push(forbidden(`${at}.${name}`, 'must populate the given metric source only'))
}

function validateSource(
  metric: Metric,
  name: (typeof order)[number],
  field: string,
  rule: GroupRule,
  errors: FieldErrors,
): void {
  const at = `${field}.target`
  if (name === 'object') {
    validateReference(metric.object?.describedObject, `${field}.describedObject`, rule, errors)
    validateIdentifier(metric.object?.metric, `${field}.metric`, errors)
    const { target } = metric.object ?? {}
    validateTarget(target, at, errors)
    if (target?.value === undefined && target?.averageValue === undefined)
      errors.push(required(`${at}.averageValue`, 'must set either a target value or averageValue'))
  } else if (name === 'external') {
    validateIdentifier(metric.external?.metric, `${field}.metric`, errors)
    validateExternalTarget(metric.external?.target, at, errors)
  } else if (name === 'pods') {
    validateIdentifier(metric.pods?.metric, `${field}.metric`, errors)
    validateTarget(metric.pods?.target, at, errors)
    if (metric.pods?.target?.averageValue === undefined)
      errors.push(required(`${at}.averageValue`, 'must specify a positive target averageValue'))
  } else validateResource(metric[name], name, field, errors)
}

function validateResource(
  source: { name?: string; container?: string; target?: Target } | undefined,
  kind: 'resource' | 'containerResource',
  field: string,
  errors: FieldErrors,
): void {
  const { name, container, target } = source ?? {}
  const at = `${field}.target`
  if (!name) errors.push(required(`${field}.name`, 'must specify a resource name'))
  else if (kind === 'containerResource') validateContainerResourceName(name, `${field}.name`, errors)
  if (kind === 'containerResource') {
    if (!container) errors.push(required(`${field}.container`, 'must specify a container'))
    else reject(errors, `${field}.container`, container, dns1123Label(container))
  }
  validateTarget(target, at, errors)
  const { averageUtilization, averageValue } = target ?? {}
  if (averageUtilization === undefined && averageValue === undefined)
    errors.push(required(`${at}.averageUtilization`, 'must set either a target raw value or a target utilization'))
  if (averageUtilization !== undefined && averageValue !== undefined)
    errors.push(forbidden(`${at}.averageValue`, 'may not set both a target raw value and a target utilization'))
}

function validateExternalTarget(target: Target = {}, at: string, errors: FieldErrors): void {
  validateTarget(target, at, errors)
  const { value, averageValue } = target
  if (value === undefined && averageValue === undefined)
    errors.push(required(`${at}.averageValue`, 'must set either a target value for metric or a per-pod target'))
  if (value !== undefined && averageValue !== undefined)
    errors.push(forbidden(`${at}.value`, 'may not set both a target value for metric and a per-pod target'))
}

function validateIdentifier(identifier: { name?: string } | undefined, at: string, errors: FieldErrors): void {
  if (!identifier?.name) errors.push(required(`${at}.name`, 'must specify a metric name'))
  else reject(errors, `${at}.name`, identifier.name, pathSegmentName(identifier.name))
}

interface Target {
  type?: string
  value?: string
  averageValue?: string
  averageUtilization?: number
}
const targetTypes = ['Utilization', 'Value', 'AverageValue']
function validateTarget(target: Target = {}, at: string, errors: FieldErrors): void {
  const { type = '', averageUtilization } = target
  if (!type) errors.push(required(`${at}.type`, 'must specify a metric target type'))
  if (!targetTypes.includes(type))
    errors.push(invalid(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue'))
  for (const name of ['value', 'averageValue'] as const) {
    const amount = target[name]
    if (amount !== undefined && (isNegativeQuantity(amount) || isZeroQuantity(amount)))
      errors.push(invalid(`${at}.${name}`, amount, 'must be positive'))
  }
  if (averageUtilization !== undefined && averageUtilization < 1)
    errors.push(invalid(`${at}.averageUtilization`, averageUtilization, 'must be greater than 0'))
}

const MAX_WINDOW_SECONDS = 3600
const MAX_PERIOD_SECONDS = 1800
const selections = ['Disabled', 'Max', 'Min']
const policyTypes = ['Percent', 'Pods']

type Rules = NonNullable<NonNullable<AutoscalerSpec['behavior']>['scaleUp']>
function validateRules(rules: Rules | undefined, at: string, errors: FieldErrors): void {
  if (!rules) return
  const { stabilizationWindowSeconds: window, selectPolicy, policies } = rules
  if (window !== undefined && window < 0)
    errors.push(invalid(`${at}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero'))
  if (window !== undefined && window > MAX_WINDOW_SECONDS)
    errors.push(
      invalid(`${at}.stabilizationWindowSeconds`, window, `must be less than or equal to ${MAX_WINDOW_SECONDS}`),
    )
  validateChoice(selectPolicy, selections, `${at}.selectPolicy`, errors)
  if (!policies?.length) errors.push(required(`${at}.policies`, 'must specify at least one Policy'))
  for (const [index, { type, value, periodSeconds: period }] of (policies ?? []).entries()) {
    const field = `${at}.policies[${index}]`
    if (!policyTypes.includes(type)) errors.push(notSupported(`${field}.type`, type, policyTypes))
    if (value <= 0) errors.push(invalid(`${field}.value`, value, 'must be greater than zero'))
    if (period <= 0) errors.push(invalid(`${field}.periodSeconds`, period, 'must be greater than zero'))
    if (period > MAX_PERIOD_SECONDS)
      errors.push(invalid(`${field}.periodSeconds`, period, `must be less than or equal to ${MAX_PERIOD_SECONDS}`))
  }
  if (rules.tolerance !== undefined && isNegativeQuantity(rules.tolerance))
    errors.push(invalid(`${at}.tolerance`, rules.tolerance, NOT_NEGATIVE))
}
