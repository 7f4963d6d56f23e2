/** Webhooks of admission. Upstream: pkg/apis/admissionregistration/validation. */
import { duplicate, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../../validation/label-selector.ts'
import { dns1123Subdomain } from '../../../validation/names.ts'
import { repetition } from '../../../validation/repetition.ts'
import { validateReviewVersions, validateWebhookClientConfig } from '../../../validation/webhook-client-config.ts'
import { type MatchCondition, validateMatchConditions } from './validate-match-conditions.ts'
import { validateRule } from './validate-rules.ts'

export interface Webhook {
  name: string
  clientConfig: Parameters<typeof validateWebhookClientConfig>[0]
  rules?: Parameters<typeof validateRule>[0][]
  failurePolicy?: string
  matchPolicy?: string
  sideEffects?: string | null
  timeoutSeconds?: number
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  matchConditions?: MatchCondition[]
  reinvocationPolicy?: string
  admissionReviewVersions?: string[] | null
}

const choices = {
  failurePolicy: ['Fail', 'Ignore'],
  matchPolicy: ['Equivalent', 'Exact'],
  sideEffects: ['None', 'NoneOnDryRun'],
  reinvocationPolicy: ['IfNeeded', 'Never'],
} as const
const maxSeconds = 30

export function validateWebhooks(webhooks: readonly Webhook[], errors: FieldErrors): void {
  const isRepeated = repetition()
  for (const [index, webhook] of webhooks.entries()) {
    const path = `webhooks[${index}]`
    validateWebhook(webhook, path, errors)
    const { name } = webhook
    const admissionReviewVersions = webhook.admissionReviewVersions ?? []
    errors.push(
      ...validateReviewVersions(
        admissionReviewVersions,
        `${path}.admissionReviewVersions`,
        'must specify one of v1, v1beta1',
      ),
    )
    if (name && isRepeated(name)) errors.push(duplicate(`${path}.name`, name))
  }
}

function validateWebhook(webhook: Webhook, path: string, errors: FieldErrors): void {
  validateName(webhook.name, `${path}.name`, errors)
  for (const [index, rule] of (webhook.rules ?? []).entries()) validateRule(rule, `${path}.rules[${index}]`, errors)
  if (typeof webhook.sideEffects !== 'string')
    errors.push(required(`${path}.sideEffects`, 'must specify one of None, NoneOnDryRun'))
  for (const [field, supported] of Object.entries(choices)) {
    const value = webhook[field as keyof typeof choices]
    if (typeof value === 'string' && !(supported as readonly string[]).includes(value))
      errors.push(notSupported(`${path}.${field}`, value, supported))
  }
  const { timeoutSeconds = 1, namespaceSelector, objectSelector, clientConfig, matchConditions = [] } = webhook
  if (timeoutSeconds < 1 || timeoutSeconds > maxSeconds)
    errors.push(invalid(`${path}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds'))
  validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`, errors)
  validateLabelSelector(objectSelector, `${path}.objectSelector`, errors)
  errors.push(...validateWebhookClientConfig(clientConfig, `${path}.clientConfig`))
  validateMatchConditions(matchConditions, `${path}.matchConditions`, errors)
}

function validateName(name: string, path: string, errors: FieldErrors): void {
  const minSegments = 3
  if (!name) {
    errors.push(required(path))
    return
  }
  const problems = dns1123Subdomain(name)
  if (problems.length > 0) errors.push(invalid(path, name, problems.join(',')))
  else if (name.split('.').length < minSegments)
    errors.push(invalid(path, name, 'should be a domain with at least three segments separated by dots'))
}
