/** When a job fails by one of its pods, and when a part of them is enough. */

import { duplicate, invalid, notSupported, OMITTED, required, tooMany } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { qualifiedName } from '../../../validation/names.ts'
import { repetition } from '../../../validation/repetition.ts'
import { reject, validateNotNegative } from '../messages.ts'
import type { JobSpec, PodFailurePolicy } from './job.ts'

const MAX_RULES = 20
const MAX_VALUES = 255
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const operators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']
/** Prints a list of strings as Go does. */
const valid = (values: string[]): string => `valid values: [${values.map((value) => JSON.stringify(value)).join(' ')}]`

function chosen(value: string | undefined, supported: string[], field: string, errors: FieldErrors): void {
  if (!value) errors.push(required(field, valid(supported)))
  else if (!supported.includes(value)) errors.push(notSupported(field, value, supported))
}

export function validateFailurePolicy(spec: JobSpec, path: string, errors: FieldErrors): void {
  const rules = spec.podFailurePolicy?.rules ?? []
  const at = `${path}.podFailurePolicy.rules`
  if (rules.length > MAX_RULES) errors.push(tooMany(at, rules.length, MAX_RULES))
  const { initContainers = [], containers } = spec.template.spec ?? { containers: [] }
  const names = new Set([...initContainers, ...(containers ?? [])].map(({ name }) => name))
  for (const [index, rule] of rules.entries()) validateRule(spec, rule, names, `${at}[${index}]`, errors)
}

type Rule = PodFailurePolicy['rules'][number]
function validateRule(spec: JobSpec, rule: Rule, names: Set<string>, at: string, errors: FieldErrors): void {
  const { action, onExitCodes, onPodConditions = [] } = rule
  if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex === undefined)
      errors.push(invalid(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'))
  } else chosen(action, actions, `${at}.action`, errors)
  if (onExitCodes) validateExitCodes(onExitCodes, names, `${at}.onExitCodes`, errors)
  if (onPodConditions.length > MAX_RULES)
    errors.push(tooMany(`${at}.onPodConditions`, onPodConditions.length, MAX_RULES))
  for (const [index, { type, status }] of onPodConditions.entries()) {
    reject(errors, `${at}.onPodConditions[${index}].type`, type, qualifiedName(type))
    chosen(status, statuses, `${at}.onPodConditions[${index}].status`, errors)
  }
  const hasConditions = onPodConditions.length > 0
  if (onExitCodes && hasConditions)
    errors.push(invalid(at, OMITTED, 'specifying both OnExitCodes and OnPodConditions is not supported'))
  if (!onExitCodes && !hasConditions)
    errors.push(invalid(at, OMITTED, 'specifying one of OnExitCodes and OnPodConditions is required'))
}

type ExitCodes = NonNullable<Rule['onExitCodes']>
function validateExitCodes(
  { containerName, operator, values }: ExitCodes,
  names: Set<string>,
  at: string,
  errors: FieldErrors,
): void {
  chosen(operator, operators, `${at}.operator`, errors)
  if (containerName !== undefined && !names.has(containerName))
    errors.push(
      invalid(
        `${at}.containerName`,
        containerName,
        'must be one of the container or initContainer names in the pod template',
      ),
    )
  const codes = values ?? []
  if (codes.length === 0) errors.push(invalid(`${at}.values`, codes, 'at least one value is required'))
  else if (codes.length > MAX_VALUES) errors.push(tooMany(`${at}.values`, codes.length, MAX_VALUES))
  const isRepeated = repetition()
  for (const [index, code] of codes.entries()) {
    if (operator === 'In' && code === 0)
      errors.push(invalid(`${at}.values[${index}]`, code, 'must not be 0 for the In operator'))
    if (isRepeated(code)) errors.push(duplicate(`${at}.values[${index}]`, code))
  }
  if (codes.some((code, index) => index > 0 && (codes[index - 1] ?? 0) > code))
    errors.push(invalid(`${at}.values`, codes, 'must be ordered'))
}

export function validateSuccessPolicy(spec: JobSpec, path: string, errors: FieldErrors): void {
  const { successPolicy: policy, completions = 0 } = spec
  if (!policy) return
  const at = `${path}.successPolicy`
  if (spec.completionMode !== 'Indexed') {
    errors.push(invalid(at, dump('io.k8s.api.batch.v1.SuccessPolicy', policy), 'requires indexed completion mode'))
    return
  }
  const rules = policy.rules ?? []
  if (rules.length === 0)
    errors.push(required(`${at}.rules`, 'at least one rules must be specified when the successPolicy is specified'))
  if (rules.length > MAX_RULES) errors.push(tooMany(`${at}.rules`, rules.length, MAX_RULES))
  for (const [index, { succeededIndexes, succeededCount }] of rules.entries()) {
    const rule = `${at}.rules[${index}]`
    if (succeededIndexes === undefined && succeededCount === undefined)
      errors.push(required(rule, 'at least one of succeededCount or succeededIndexes must be specified'))
    const parsed = succeededIndexes === undefined ? undefined : countIndexes(succeededIndexes, completions)
    if (parsed instanceof Error)
      errors.push(
        invalid(`${rule}.succeededIndexes`, succeededIndexes, `error parsing succeededIndexes: ${parsed.message}`),
      )
    if (succeededCount === undefined) continue
    const count = `${rule}.succeededCount`
    validateNotNegative(succeededCount, count, errors)
    if (succeededCount > completions)
      errors.push(
        invalid(
          count,
          succeededCount,
          `must be less than or equal to ${completions} (the number of specified completions)`,
        ),
      )
    if (typeof parsed === 'number' && succeededCount > parsed)
      errors.push(
        invalid(
          count,
          succeededCount,
          `must be less than or equal to ${parsed} (the number of indexes in the specified succeededIndexes field)`,
        ),
      )
  }
}

/** Returns how many indexes a text such as `0,2-4` names. Each must be below `completions`, in rising order. */
function countIndexes(text: string, completions: number): number | Error {
  if (text === '') return 0
  let count = 0
  let last = -1
  for (const interval of text.split(',')) {
    const limits = interval.split('-')
    if (limits.length > 2)
      return new Error(
        `the fragment ${JSON.stringify(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`,
      )
    const numbers: number[] = []
    for (const limit of limits) {
      if (!/^\d+$/.test(limit)) return new Error(`cannot convert string to integer for index: ${JSON.stringify(limit)}`)
      if (Number(limit) >= completions) return new Error(`too large index: ${JSON.stringify(limit)}`)
      numbers.push(Number(limit))
    }
    const [first = 0, end = first] = numbers
    if (first <= last) return new Error(`non-increasing order, previous: ${last}, current: ${first}`)
    if (numbers.length === 2 && end <= first)
      return new Error(`non-increasing order, previous: ${first}, current: ${end}`)
    count += end - first + 1
    last = end
  }
  return count
}
