import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { parseIndexes } from './indexes.ts'

type Rule = NonNullable<Job['spec']['podFailurePolicy']>['rules'][number]

export interface FailureVerdict {
  action: 'Count' | 'Ignore' | 'FailIndex' | 'FailJob'
  /** Present if the action is `FailJob`. */
  message?: string
}

/**
 * Returns the verdict of the first rule of the pod failure policy that matches; without a match the failure counts.
 * Upstream: pkg/controller/job/pod_failure_policy.go.
 */
export function failureVerdict({ spec }: Job, pod: TrimmedPod): FailureVerdict {
  if (pod.status?.phase !== 'Failed') return { action: 'Count' }
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const matched = rule.onExitCodes ? matchedContainer(rule, pod) : matchedCondition(rule, pod)
    if (matched === undefined) continue
    const { action } = rule
    if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) return { action: 'Count' }
    return {
      action: action as FailureVerdict['action'],
      ...(action === 'FailJob' && { message: `${matched} matching ${action} rule at index ${index}` }),
    }
  }
  return { action: 'Count' }
}

const nameOf = ({ metadata }: TrimmedPod): string => `${metadata.namespace}/${metadata.name}`

function matchedContainer({ onExitCodes }: Rule, pod: TrimmedPod): string | undefined {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  for (const { name, state } of statuses) {
    const exitCode = state?.terminated?.exitCode ?? 0
    if (exitCode === 0 || (onExitCodes?.containerName && onExitCodes.containerName !== name)) continue
    const isListed = onExitCodes?.values.includes(exitCode) ?? false
    if (isListed === (onExitCodes?.operator === 'In'))
      return `Container ${name} for pod ${nameOf(pod)} failed with exit code ${exitCode}`
  }
  return undefined
}

function matchedCondition({ onPodConditions = [] }: Rule, pod: TrimmedPod): string | undefined {
  const matched = onPodConditions.find(({ type, status }) =>
    pod.status?.conditions?.some((condition) => condition.type === type && condition.status === (status ?? 'True')),
  )
  return matched && `Pod ${nameOf(pod)} has condition ${matched.type}`
}

/**
 * Returns which rule of the success policy an indexed job meets before all of its indexes have succeeded; undefined if
 * it meets none. Upstream: pkg/controller/job/success_policy.go.
 */
export function metSuccessPolicy({ spec }: Job, completed: ReadonlySet<number>): string | undefined {
  for (const [index, { succeededIndexes, succeededCount }] of (spec.successPolicy?.rules ?? []).entries()) {
    const meant = succeededIndexes === undefined ? undefined : parseIndexes(succeededIndexes, spec.completions ?? 0)
    const count = meant ? [...meant].filter((one) => completed.has(one)).length : completed.size
    if (count >= (succeededCount ?? meant?.size ?? Number.POSITIVE_INFINITY)) return `Matched rules at index ${index}`
  }
  return undefined
}
