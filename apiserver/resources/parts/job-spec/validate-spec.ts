/** The spec of a job, on its own and as the template of one. */
import { invalid, notSupported, required, tooLong } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { domainPrefixedPath } from '../../../validation/names.ts'
import { validateChoice, validateNotNegative } from '../messages.ts'
import { validatePodTemplate } from '../pod-template.ts'
import type { JobSpec } from './job.ts'
import { validateFailurePolicy, validateSuccessPolicy } from './validate-policies.ts'

const MAX_MANAGED_BY = 63
const MANY = 100_000
const MANY_AT_ONCE = 10_000
const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
] as const
const modes = ['NonIndexed', 'Indexed']
const replacementPolicies = ['Failed', 'TerminatingOrFailed']

export function validateJobSpec(spec: JobSpec, path: string, errors: FieldErrors): void {
  const field = (name: string) => `${path}.${name}`
  for (const name of counts) validateNotNegative(spec[name], field(name), errors)
  if (spec.maxFailedIndexes !== undefined) {
    validateNotNegative(spec.maxFailedIndexes, field('maxFailedIndexes'), errors)
    if (spec.backoffLimitPerIndex === undefined)
      errors.push(required(field('backoffLimitPerIndex'), 'when maxFailedIndexes is specified'))
  }
  if (spec.managedBy !== undefined) {
    if (spec.managedBy === '') errors.push(required(field('managedBy')))
    else
      for (const { value, message } of domainPrefixedPath(spec.managedBy))
        errors.push(invalid(field('managedBy'), value, message))
    if (spec.managedBy.length > MAX_MANAGED_BY) errors.push(tooLong(field('managedBy'), MAX_MANAGED_BY))
  }
  validateCompletionMode(spec, field, errors)
  if (spec.podFailurePolicy) validateFailurePolicy(spec, path, errors)
  validateSuccessPolicy(spec, path, errors)
  if (spec.podReplacementPolicy !== undefined) {
    const supported = spec.podFailurePolicy ? ['Failed'] : replacementPolicies
    if (!supported.includes(spec.podReplacementPolicy))
      errors.push(notSupported(field('podReplacementPolicy'), spec.podReplacementPolicy, supported))
  }
  validatePodTemplate(spec.template, field('template'), errors)
  validateRestartPolicy(spec, field('template.spec.restartPolicy'), errors)
}

function validateCompletionMode(spec: JobSpec, field: (name: string) => string, errors: FieldErrors): void {
  const { completionMode: mode, completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec
  validateChoice(mode, modes, field('completionMode'), errors)
  const atMost = (name: string, value: number | undefined, limit: number, when: string) => {
    if (value !== undefined && value > limit)
      errors.push(invalid(field(name), value, `must be less than or equal to ${limit}${when}`))
  }
  if (mode === 'Indexed') {
    if (completions === undefined) errors.push(required(field('completions'), 'when completion mode is Indexed'))
    atMost('parallelism', parallelism, MANY, ' when completion mode is Indexed')
    if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
      errors.push(invalid(field('maxFailedIndexes'), maxFailedIndexes, 'must be less than or equal to completions'))
    atMost('maxFailedIndexes', maxFailedIndexes, MANY, '')
    if ((completions ?? 0) > MANY && backoffLimitPerIndex !== undefined) {
      const when = ` when completions are above ${MANY} and used with backoff limit per index`
      if (maxFailedIndexes === undefined)
        errors.push(required(field('maxFailedIndexes'), `must be specified when completions is above ${MANY}`))
      atMost('parallelism', parallelism, MANY_AT_ONCE, when)
      atMost('maxFailedIndexes', maxFailedIndexes, MANY_AT_ONCE, when)
    }
  } else if (mode === undefined || mode === 'NonIndexed') {
    for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
      if (spec[name] !== undefined) errors.push(invalid(field(name), spec[name], 'requires indexed completion mode'))
  }
}

function validateRestartPolicy(spec: JobSpec, field: string, errors: FieldErrors): void {
  const policy = spec.template.spec?.restartPolicy ?? ''
  const supported = ['OnFailure', 'Never']
  if (policy === '' || policy === 'Always') errors.push(required(field, 'valid values: "OnFailure", "Never"'))
  else if (!supported.includes(policy)) errors.push(notSupported(field, policy, supported))
  else if (spec.podFailurePolicy && policy !== 'Never')
    errors.push(invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified'))
}
