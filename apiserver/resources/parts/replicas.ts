/** The status that ReplicaSets and ReplicationControllers share. */
import type { ObjectMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column } from '../../kind/cells.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { validateNotNegative } from './messages.ts'

export interface ReplicaStatus {
  replicas?: number
  fullyLabeledReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  observedGeneration?: number
}

export const replicaColumns = [
  column('Desired', 'Pods wanted.', { type: 'integer' }),
  column('Current', 'Pods that there are.', { type: 'integer' }),
  column('Ready', 'Pods that are ready.', { type: 'integer' }),
  ageColumn,
]

interface Replicated {
  metadata: ObjectMeta
  spec?: { replicas?: number }
  status?: ReplicaStatus
}
export const replicaCells = ({ metadata, spec, status }: Replicated, nowMs: number): unknown[] => [
  spec?.replicas ?? 0,
  status?.replicas ?? 0,
  status?.readyReplicas ?? 0,
  age(metadata.creationTimestamp, nowMs),
]

export function validateReplicaStatus(status: ReplicaStatus, errors: FieldErrors): void {
  const { replicas = 0, fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  validateNotNegative(replicas, 'status.replicas', errors)
  validateNotNegative(fullyLabeledReplicas, 'status.fullyLabeledReplicas', errors)
  validateNotNegative(readyReplicas, 'status.readyReplicas', errors)
  validateNotNegative(availableReplicas, 'status.availableReplicas', errors)
  validateNotNegative(status.observedGeneration, 'status.observedGeneration', errors)
  const above = 'cannot be greater than status.replicas'
  if (fullyLabeledReplicas > replicas) errors.push(invalid('status.fullyLabeledReplicas', fullyLabeledReplicas, above))
  if (readyReplicas > replicas) errors.push(invalid('status.readyReplicas', readyReplicas, above))
  if (availableReplicas > replicas) errors.push(invalid('status.availableReplicas', availableReplicas, above))
  if (availableReplicas > readyReplicas)
    errors.push(invalid('status.availableReplicas', availableReplicas, 'cannot be greater than readyReplicas'))
}
