import type { V1ReplicationControllerStatus } from '@kubernetes/client-node'
import { matchesLabels } from '../../../shared/api/selectors/label-selector.ts'
import type { ObjectMeta, PodTemplateSpec, Wire } from '../../../shared/api/types.ts'
import { nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { declaredName } from '../../validation/names.ts'
import { validateNotNegative } from '../parts/messages.ts'
import { defaultPodTemplate, labelText } from '../parts/pod-template.ts'
import { replicaCells, replicaColumns, validateReplicaStatus } from '../parts/replicas.ts'
import {
  containerCells,
  examplePods,
  notSelected,
  templateColumns,
  validateLastingTemplate,
  workloadStrategy,
} from '../parts/workload.ts'

interface ReplicationController {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: { replicas?: number; minReadySeconds?: number; selector?: Record<string, string>; template?: PodTemplateSpec }
  status?: Partial<Wire<V1ReplicationControllerStatus>>
}
export const replicationcontroller = resource<ReplicationController>({
  group: '',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  namespaced: true,
  shortNames: ['rc'],
  categories: ['all'],
  columns: [nameColumn, ...replicaColumns, ...templateColumns],
  cells: (object, nowMs) => [
    object.metadata.name,
    ...replicaCells(object, nowMs),
    ...containerCells({ template: object.spec.template ?? {} }),
    labelText(object.spec.selector),
  ],
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  subresources: { status: true, scale: true },
  strategy: workloadStrategy({
    namesPods: true,
    validateName: declaredName,
    statusSchema: 'io.k8s.api.core.v1.ReplicationControllerStatus',
    applyDefaults({ metadata, spec }) {
      const labels = spec.template?.metadata?.labels
      if (labels) {
        if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels }
        if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
      }
      spec.replicas ??= 1
      if (!spec.minReadySeconds) delete spec.minReadySeconds
      if (spec.template) defaultPodTemplate(spec.template)
    },
    validateSpec,
    validateStatus: ({ status = {} }, _old, errors) => validateReplicaStatus(status, errors),
  }),
  example: {
    metadata: { name: 'web' },
    spec: { replicas: 2, ...examplePods('web'), selector: { app: 'web' } },
  },
})

function validateSpec(
  { replicas, minReadySeconds, selector = {}, template }: ReplicationController['spec'],
  errors: FieldErrors,
): void {
  validateNotNegative(minReadySeconds, 'spec.minReadySeconds', errors)
  const wanted = Object.entries(selector)
  if (wanted.length === 0) errors.push(required('spec.selector'))
  validateNotNegative(replicas, 'spec.replicas', errors)
  if (!template) {
    errors.push(required('spec.template'))
    return
  }
  const requirements = wanted.map(([key, value]) => ({ key, operator: 'in' as const, values: [value] }))
  const labels = template.metadata?.labels
  if (!matchesLabels(requirements, labels)) errors.push(notSelected('spec.template', labels))
  validateLastingTemplate(template, errors, 'activeDeadlineSeconds in ReplicationController is not Supported')
}
