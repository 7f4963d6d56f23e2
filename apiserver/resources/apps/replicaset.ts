import type { V1ReplicaSetSpec, V1ReplicaSetStatus } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import { nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { validateNotNegative } from '../parts/messages.ts'
import { defaultPodTemplate } from '../parts/pod-template.ts'
import { replicaCells, replicaColumns, validateReplicaStatus } from '../parts/replicas.ts'
import {
  examplePods,
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

type Spec = Omit<Wire<V1ReplicaSetSpec>, keyof WorkloadSpec> & WorkloadSpec
interface ReplicaSet extends Workload {
  spec: Spec
  status?: Partial<Wire<V1ReplicaSetStatus>>
}

export const replicaset = resource<ReplicaSet>({
  group: 'apps',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
  shortNames: ['rs'],
  categories: ['all'],
  columns: [nameColumn, ...replicaColumns, ...templateColumns],
  cells: (object, nowMs) => [object.metadata.name, ...replicaCells(object, nowMs), ...templateCells(object.spec)],
  subresources: { status: true, scale: true },
  strategy: workloadStrategy({
    namesPods: true,
    statusSchema: 'io.k8s.api.apps.v1.ReplicaSetStatus',
    applyDefaults({ spec }) {
      spec.replicas ??= 1
      defaultPodTemplate(spec.template)
    },
    validateSpec,
    validateLasting: validateLastingSelector,
    validateStatus: ({ status = {} }, _old, errors) => validateReplicaStatus(status, errors),
  }),
  example: {
    metadata: { name: 'web' },
    spec: { replicas: 2, ...examplePods('web') },
  },
})

function validateSpec(spec: Spec, errors: FieldErrors): void {
  validateNotNegative(spec.replicas, 'spec.replicas', errors)
  validateNotNegative(spec.minReadySeconds, 'spec.minReadySeconds', errors)
  validateSelector(spec.selector, 'deployment', errors)
  if (validateSelected(spec, errors)) validateLastingTemplate(spec.template, errors)
}
