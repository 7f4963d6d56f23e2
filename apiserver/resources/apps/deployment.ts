import type { V1DeploymentSpec, V1DeploymentStatus } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { numberOf, validateIntOrPercent, validateNotMoreThanAll } from '../../validation/int-or-percent.ts'
import { validateNotNegative } from '../parts/messages.ts'
import { defaultPodTemplate } from '../parts/pod-template.ts'
import {
  examplePods,
  specOrAnnotationsChanged,
  templateCells,
  templateColumns,
  validateLastingSelector,
  validateLastingTemplate,
  validateSelected,
  validateSelector,
  type Workload,
  type WorkloadSpec,
  workloadStrategy,
} from '../parts/workload.ts'

type Spec = Omit<Wire<V1DeploymentSpec>, keyof WorkloadSpec> & WorkloadSpec
interface Deployment extends Workload {
  spec: Spec
  status?: Wire<V1DeploymentStatus>
}

const strategy = workloadStrategy<Deployment>({
  namesPods: true,
  statusSchema: 'io.k8s.api.apps.v1.DeploymentStatus',
  applyDefaults,
  validateSpec,
  validateLasting: validateLastingSelector,
  validateStatus,
})

export const deployment = resource<Deployment>({
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  columns: [
    nameColumn,
    column('Ready', 'Ready pods of those wanted.'),
    column('Up-to-date', 'Pods made of the present template.'),
    column('Available', 'Pods that are available.'),
    ageColumn,
    ...templateColumns,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    age(metadata.creationTimestamp, nowMs),
    ...templateCells(spec),
  ],
  subresources: { status: true, scale: true },
  resetFields: { status: ['metadata.labels'] },
  strategy: {
    ...strategy,
    prepareForUpdate(object, old, context) {
      if (context.subresource === 'status') object.metadata.labels = old.metadata.labels
      strategy.prepareForUpdate(object, old, context)
    },
    generation: { changed: specOrAnnotationsChanged },
  },
  example: {
    metadata: { name: 'web' },
    spec: { replicas: 2, ...examplePods('web') },
  },
})

function applyDefaults({ spec }: Deployment): void {
  spec.replicas ??= 1
  spec.strategy ??= {}
  spec.strategy.type ||= 'RollingUpdate'
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate ??= {}
    spec.strategy.rollingUpdate.maxUnavailable ??= '25%'
    spec.strategy.rollingUpdate.maxSurge ??= '25%'
  }
  spec.revisionHistoryLimit ??= 10
  spec.progressDeadlineSeconds ??= 600
  defaultPodTemplate(spec.template)
}

function validateSpec(spec: Spec, errors: FieldErrors): void {
  validateNotNegative(spec.replicas, 'spec.replicas', errors)
  validateSelector(spec.selector, 'deployment', errors)
  if (validateSelected(spec, errors)) validateLastingTemplate(spec.template, errors)
  validateStrategy(spec.strategy ?? {}, errors)
  validateNotNegative(spec.minReadySeconds, 'spec.minReadySeconds', errors)
  validateNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit', errors)
  const deadline = spec.progressDeadlineSeconds
  if (deadline === undefined) return
  validateNotNegative(deadline, 'spec.progressDeadlineSeconds', errors)
  if (deadline <= (spec.minReadySeconds ?? 0))
    errors.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'))
}

function validateStrategy({ type, rollingUpdate, ...rest }: NonNullable<Spec['strategy']>, errors: FieldErrors): void {
  const at = 'spec.strategy.rollingUpdate'
  switch (type) {
    case 'Recreate':
      if (rollingUpdate) errors.push(forbidden(at, "may not be specified when strategy `type` is 'Recreate'"))
      break
    case 'RollingUpdate': {
      if (!rollingUpdate) {
        errors.push(required(at, 'this should be defaulted and never be nil'))
        break
      }
      const { maxUnavailable, maxSurge } = rollingUpdate
      validateIntOrPercent(maxUnavailable, `${at}.maxUnavailable`, errors)
      validateIntOrPercent(maxSurge, `${at}.maxSurge`, errors)
      if (numberOf(maxUnavailable) === 0 && numberOf(maxSurge) === 0)
        errors.push(invalid(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'))
      validateNotMoreThanAll(maxUnavailable, `${at}.maxUnavailable`, errors)
      break
    }
    default: {
      const shown = dump('io.k8s.api.apps.v1.DeploymentStrategy', { type, rollingUpdate, ...rest })
      errors.push(notSupported('spec.strategy', shown, ['Recreate', 'RollingUpdate']))
    }
  }
}

function validateStatus({ status = {} }: Deployment, old: Deployment, errors: FieldErrors): void {
  const counts = [
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'collisionCount',
  ] as const
  validateNotNegative(status.observedGeneration, 'status.observedGeneration', errors)
  for (const name of counts) validateNotNegative(status[name], `status.${name}`, errors)
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0, collisionCount = 0 } = status
  const notAbove = (name: 'updatedReplicas' | 'readyReplicas' | 'availableReplicas', value: number, limit: string) =>
    errors.push(invalid(`status.${name}`, value, `cannot be greater than ${limit}`))
  if (updatedReplicas > replicas) notAbove('updatedReplicas', updatedReplicas, 'status.replicas')
  if (readyReplicas > replicas) notAbove('readyReplicas', readyReplicas, 'status.replicas')
  if (availableReplicas > replicas) notAbove('availableReplicas', availableReplicas, 'status.replicas')
  if (availableReplicas > readyReplicas) notAbove('availableReplicas', availableReplicas, 'readyReplicas')
  if (old.status?.collisionCount !== undefined && collisionCount < old.status.collisionCount)
    errors.push(invalid('status.collisionCount', collisionCount, 'cannot be decremented'))
}
