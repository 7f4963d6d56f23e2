import type { V1ResourceQuotaSpec, V1ScopedResourceSelectorRequirement } from '@kubernetes/client-node'
import { isZeroQuantity } from '../api/quantities/quantity.ts'
import type { KubeObject, Pod, Wire } from '../api/types.ts'

type Requirement = Wire<V1ScopedResourceSelectorRequirement>

/**
 * Returns true if the quota's scopes cover the object. Upstream:
 * pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims}.go.
 */
export function isInScopes(
  { scopes = [], scopeSelector }: Wire<V1ResourceQuotaSpec>,
  resource: { group: string; plural: string },
  object: KubeObject,
): boolean {
  const requirements: Requirement[] = [
    ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(scopeSelector?.matchExpressions ?? []),
  ]
  if (requirements.length === 0) return true
  const matches = resource.group === '' ? matchers[resource.plural] : undefined
  return matches !== undefined && requirements.every((requirement) => matches(requirement, object))
}

const matchers: Readonly<Record<string, (requirement: Requirement, object: KubeObject) => boolean>> = {
  pods: (requirement, object) => isPodInScope(requirement, object as unknown as Pod),
  persistentvolumeclaims(requirement, { spec, status }) {
    if (requirement.scopeName !== 'VolumeAttributesClass') return false
    const { volumeAttributesClassName: wanted } = (spec ?? {}) as { volumeAttributesClassName?: string }
    const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = (status ?? {}) as {
      currentVolumeAttributesClassName?: string
      modifyVolumeStatus?: { targetVolumeAttributesClassName?: string }
    }
    const names = [wanted, current, modifyVolumeStatus?.targetVolumeAttributesClassName].filter((name) => name)
    return names.length === 0 ? meets(requirement, undefined) : names.some((name) => meets(requirement, name))
  },
}

function isPodInScope(requirement: Requirement, pod: Pod): boolean {
  const { spec } = pod
  switch (requirement.scopeName) {
    case 'Terminating':
      return hasDeadline(pod)
    case 'NotTerminating':
      return !hasDeadline(pod)
    case 'BestEffort':
      return isBestEffort(pod)
    case 'NotBestEffort':
      return !isBestEffort(pod)
    case 'PriorityClass':
      return meets(requirement, spec.priorityClassName || undefined)
    case 'CrossNamespacePodAffinity':
      return [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].some((affinity) =>
        [
          ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
          ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => term.podAffinityTerm),
        ].some(({ namespaces, namespaceSelector }) => namespaces?.length || namespaceSelector !== undefined),
      )
    default:
      return false
  }
}

const hasDeadline = ({ spec }: Pod): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0

const isBestEffort = ({ spec }: Pod): boolean =>
  [spec, ...spec.containers, ...(spec.initContainers ?? [])].every(({ resources }) =>
    ['cpu', 'memory'].every((name) =>
      [resources?.requests?.[name], resources?.limits?.[name]].every(
        (amount) => amount === undefined || isZeroQuantity(amount),
      ),
    ),
  )

function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'In':
      return value !== undefined && values.includes(value)
    default:
      return value === undefined || !values.includes(value)
  }
}
