import { isNegativeQuantity, isZeroQuantity } from '../../../shared/api/quantity.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { pathSegmentName } from '../../validation/names.ts'
import { reject } from '../parts/messages.ts'
import type { Autoscaler, AutoscalerSpec, Metric } from './types.ts'

export function validateAutoscaler({ spec }: Pick<Autoscaler, 'spec'>, errors: FieldErrors): void {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics = [], behavior } = spec ?? {}
  if (minReplicas !== undefined && minReplicas < 1)
    errors.push(invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'))
  if (maxReplicas < 1) errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than 0'))
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'))
  validateReference(scaleTargetRef, 'spec.scaleTargetRef', errors)
  for (const [index, metric] of metrics.entries()) validateMetric(metric, `spec.metrics[${index}]`, errors)
  for (const direction of ['scaleUp', 'scaleDown'] as const)
    validateRules(behavior?.[direction], `spec.behavior.${direction}`, errors)
}

interface Reference {
  kind?: string
  name?: string
}
function validateReference(reference: Reference | undefined, at: string, errors: FieldErrors): void {
  for (const field of ['kind', 'name'] as const) {
    const text = reference?.[field]
    if (!text) errors.push(required(`${at}.${field}`))
    else reject(errors, `${at}.${field}`, text, pathSegmentName(text))
  }
}

/** Metric type → the field that describes it. */
const sources = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const
/** In the order in which upstream looks at them. */
const order = ['object', 'external', 'pods', 'resource', 'containerResource'] as const
const types = Object.keys(sources)

function validateMetric(metric: Metric, at: string, errors: FieldErrors): void {
  if (!metric.type) {
    errors.push(required(`${at}.type`, 'must specify a metric source type'))
    return
  }
  const expected = Object.hasOwn(sources, metric.type) ? sources[metric.type as keyof typeof sources] : undefined
  if (!expected) {
    errors.push(notSupported(`${at}.type`, metric.type, types))
  }
  const given = order.filter((name) => metric[name] !== undefined)
  for (const name of given) {
    const field = `${at}.${name}`
    if (name === 'object') {
      validateReference(metric.object?.describedObject, `${field}.describedObject`, errors)
      validateIdentifier(metric.object?.metric, `${field}.metric`, errors)
      validateTarget(metric.object?.target, `${field}.target`, errors, ['value', 'averageValue'])
    } else if (name === 'external') {
      validateIdentifier(metric.external?.metric, `${field}.metric`, errors)
      validateTarget(metric.external?.target, `${field}.target`, errors, ['value', 'averageValue'])
    } else if (name === 'pods') {
      validateIdentifier(metric.pods?.metric, `${field}.metric`, errors)
      validateTarget(metric.pods?.target, `${field}.target`, errors, ['averageValue'])
    } else {
      const source = metric[name]
      if (!source?.name) errors.push(required(`${field}.name`, 'must specify a resource name'))
      if (name === 'containerResource' && !metric.containerResource?.container)
        errors.push(required(`${field}.container`, 'must specify a container'))
      validateTarget(source?.target, `${field}.target`, errors, ['averageUtilization', 'averageValue'])
    }
  }
  if (!expected) {
    errors.push(notSupported(`${at}.type`, metric.type, types))
    return
  }
  if (metric[expected] === undefined)
    errors.push(required(`${at}.${expected}`, 'must populate information for the given metric source'))
  for (const name of given)
    if (name !== expected) errors.push(forbidden(`${at}.${name}`, 'must populate the given metric source only'))
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
type Amount = 'value' | 'averageValue' | 'averageUtilization'
const targetTypes = ['Utilization', 'Value', 'AverageValue']
/** What is asked for when none of the allowed amounts is set. */
const missing: Record<string, [Amount, string]> = {
  'value,averageValue': ['averageValue', 'must set either a target value for metric or a per-pod target'],
  averageValue: ['averageValue', 'must specify a positive target averageValue'],
  'averageUtilization,averageValue': [
    'averageUtilization',
    'must set either a target raw value or a target utilization',
  ],
}
function validateTarget(target: Target = {}, at: string, errors: FieldErrors, allowed: Amount[]): void {
  if (!target.type) errors.push(required(`${at}.type`, 'must specify a metric target type'))
  else if (!targetTypes.includes(target.type))
    errors.push(invalid(`${at}.type`, target.type, 'must be either Utilization, Value, or AverageValue'))
  for (const name of ['value', 'averageValue'] as const) {
    const amount = target[name]
    if (amount !== undefined && (isNegativeQuantity(amount) || isZeroQuantity(amount)))
      errors.push(invalid(`${at}.${name}`, amount, 'must be positive'))
  }
  const { averageUtilization } = target
  if (averageUtilization !== undefined && averageUtilization < 1)
    errors.push(invalid(`${at}.averageUtilization`, averageUtilization, 'must be greater than 0'))
  const [field, detail] = missing[allowed.join(',')] ?? ['value', '']
  if (allowed.every((name) => target[name] === undefined)) errors.push(required(`${at}.${field}`, detail))
  if (allowed[0] === 'averageUtilization' && averageUtilization !== undefined && target.averageValue !== undefined)
    errors.push(forbidden(`${at}.averageValue`, 'may not set both a target raw value and a target utilization'))
  if (allowed[0] === 'value' && target.value !== undefined && target.averageValue !== undefined)
    errors.push(forbidden(`${at}.value`, 'may not set both a target value for metric and a per-pod target'))
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
  if (selectPolicy !== undefined && !selections.includes(selectPolicy))
    errors.push(notSupported(`${at}.selectPolicy`, selectPolicy, selections))
  if (!policies?.length) errors.push(required(`${at}.policies`, 'must specify at least one Policy'))
  for (const [index, { type, value, periodSeconds: period }] of (policies ?? []).entries()) {
    const field = `${at}.policies[${index}]`
    if (!policyTypes.includes(type)) errors.push(notSupported(`${field}.type`, type, policyTypes))
    if (value <= 0) errors.push(invalid(`${field}.value`, value, 'must be greater than zero'))
    if (period <= 0) errors.push(invalid(`${field}.periodSeconds`, period, 'must be greater than zero'))
    if (period > MAX_PERIOD_SECONDS)
      errors.push(invalid(`${field}.periodSeconds`, period, `must be less than or equal to ${MAX_PERIOD_SECONDS}`))
  }
}
