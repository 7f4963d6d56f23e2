import type { V1PodDisruptionBudgetStatus } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { validateIntOrPercent, validateNotMoreThanAll } from '../../validation/int-or-percent.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { pathSegmentName } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { validateConditions } from '../parts/conditions.ts'
import { validateChoice, validateNotNegative } from '../parts/messages.ts'

interface PodDisruptionBudget {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: {
    minAvailable?: number | string
    maxUnavailable?: number | string
    selector?: LabelSelector
    unhealthyPodEvictionPolicy?: string
  }
  status?: Partial<Wire<V1PodDisruptionBudgetStatus>>
}

export const poddisruptionbudget = resource<PodDisruptionBudget>({
  group: 'policy',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
  shortNames: ['pdb'],
  columns: [
    nameColumn,
    column('Min Available', 'Pods that must stay available.'),
    column('Max Unavailable', 'Pods that may be unavailable.'),
    column('Allowed Disruptions', 'Pods that may be evicted now.', { type: 'integer' }),
    ageColumn,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    String(spec.minAvailable ?? 'N/A'),
    String(spec.maxUnavailable ?? 'N/A'),
    status?.disruptionsAllowed ?? 0,
    age(metadata.creationTimestamp, nowMs),
  ],
  subresources: { status: true },
  strategy: {
    // Upstream looks at nothing else of its metadata.
    validateName: pathSegmentName,
    unqualifiedFinalizers: true,
    prepareForCreate(object) {
      object.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
    },
    validate: ({ spec }, errors) => validate(spec, errors),
    validateUpdate({ spec, status = {} }, _old, errors, { subresource }) {
      if (subresource) validateStatus(status, errors)
      else validate(spec, errors)
    },
    generation: { changed: ({ spec }, old) => !deepEqual(spec, old.spec) },
    allowUnconditionalUpdate: false,
  },
  example: {
    metadata: { name: 'web' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  },
})

const policies = ['AlwaysAllow', 'IfHealthyBudget']

function validate(spec: PodDisruptionBudget['spec'], errors: FieldErrors): void {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = dump('io.k8s.api.policy.v1.PodDisruptionBudgetSpec', spec) as Record<string, unknown>
    shown.Selector = selector ?? null
    errors.push(invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set'))
  }
  validateIntOrPercent(minAvailable, 'spec.minAvailable', errors)
  validateNotMoreThanAll(minAvailable, 'spec.minAvailable', errors)
  validateIntOrPercent(maxUnavailable, 'spec.maxUnavailable', errors)
  validateNotMoreThanAll(maxUnavailable, 'spec.maxUnavailable', errors)
  validateLabelSelector(selector, 'spec.selector', errors)
  validateChoice(policy, policies, 'spec.unhealthyPodEvictionPolicy', errors)
}

const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const

function validateStatus(status: Partial<Wire<V1PodDisruptionBudgetStatus>>, errors: FieldErrors): void {
  validateConditions(status.conditions, 'status.conditions', errors)
  for (const name of counts) validateNotNegative(status[name], `status.${name}`, errors)
}
