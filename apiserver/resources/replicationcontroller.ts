import type { V1ReplicationControllerStatus } from '@kubernetes/client-node'
import { matchesLabels } from '../../shared/api/label-selector.ts'
import type { ObjectMeta, PodTemplateSpec, Wire } from '../../shared/api/types.ts'
import { resource } from '../registry/resource-definition.ts'
import { zeroOf } from '../validation/decoder.ts'
import { required } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import { nameColumn } from './cells.ts'
import { validateNotNegative } from './pod/messages.ts'
import { defaultPodTemplate, labelText } from './pod-template.ts'
import { replicaCells, replicaColumns, validateReplicaStatus } from './replicas.ts'
import {
  containerCells,
  dropDisabled,
  notSelected,
  specChanged,
  templateColumns,
  validateLastingTemplate,
  workloadWarnings,
} from './workload.ts'

interface ReplicationController {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: { replicas?: number; minReadySeconds?: number; selector?: Record<string, string>; template?: PodTemplateSpec }
  status?: Partial<Wire<V1ReplicationControllerStatus>>
}
/** Like the newer kinds, but for its selector, which is a plain map. */
const asWorkload = ({ metadata, spec }: ReplicationController) => ({
  metadata,
  spec: { template: spec.template ?? {} },
})

export const replicationcontroller = resource<ReplicationController>({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  singular: 'replicationcontroller',
  namespaced: true,
  shortNames: ['rc'],
  categories: ['all'],
  schema: 'io.k8s.api.core.v1.ReplicationController',
  columns: [nameColumn, ...replicaColumns, ...templateColumns],
  cells: (object, nowMs) => [
    object.metadata.name,
    ...replicaCells(object, nowMs),
    ...containerCells(asWorkload(object).spec),
    labelText(object.spec.selector),
  ],
  selectableFields: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  subresources: { status: true, scale: true },
  strategy: {
    applyDefaults({ metadata, spec }) {
      const labels = spec.template?.metadata?.labels
      if (labels) {
        if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels }
        if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
      }
      spec.replicas ??= 1
      spec.minReadySeconds ||= undefined
      if (spec.template) defaultPodTemplate(spec.template)
    },
    prepareForCreate(object, context) {
      object.status = zeroOf('io.k8s.api.core.v1.ReplicationControllerStatus') as ReplicationController['status']
      dropDisabled(asWorkload(object), undefined, context)
    },
    prepareForUpdate(object, old, context) {
      if (context.subresource !== 'status') dropDisabled(asWorkload(object), asWorkload(old), context)
    },
    validate: ({ spec }, errors) => validateSpec(spec, errors),
    validateUpdate(object, _old, errors, { subresource }) {
      if (subresource === 'status') validateReplicaStatus(object.status ?? {}, errors)
      else validateSpec(object.spec, errors)
    },
    warnings: (object, old, { subresource }) =>
      workloadWarnings(asWorkload(object), old && asWorkload(old), subresource),
    generation: { changed: specChanged },
  },
  example: {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { app: 'web' },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'busybox:1.37' }] },
      },
    },
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
