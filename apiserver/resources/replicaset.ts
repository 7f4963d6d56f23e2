import type { V1ReplicaSetSpec, V1ReplicaSetStatus } from '@kubernetes/client-node'
import type { Wire } from '../../shared/api/types.ts'
import { resource } from '../registry/resource-definition.ts'
import { zeroOf } from '../validation/decoder.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import { nameColumn } from './cells.ts'
import { validateNotNegative } from './pod/messages.ts'
import { defaultPodTemplate } from './pod-template.ts'
import { replicaCells, replicaColumns, validateReplicaStatus } from './replicas.ts'
import {
  dropDisabled,
  specChanged,
  templateCells,
  templateColumns,
  validateImmutable,
  validateLastingTemplate,
  validateSelected,
  validateSelector,
  type Workload,
  type WorkloadSpec,
  workloadWarnings,
} from './workload.ts'

type Spec = Omit<Wire<V1ReplicaSetSpec>, keyof WorkloadSpec> & WorkloadSpec
interface ReplicaSet extends Workload {
  spec: Spec
  status?: Partial<Wire<V1ReplicaSetStatus>>
}

export const replicaset = resource<ReplicaSet>({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  singular: 'replicaset',
  namespaced: true,
  shortNames: ['rs'],
  categories: ['all'],
  schema: 'io.k8s.api.apps.v1.ReplicaSet',
  columns: [nameColumn, ...replicaColumns, ...templateColumns],
  cells: (object, nowMs) => [object.metadata.name, ...replicaCells(object, nowMs), ...templateCells(object.spec)],
  subresources: { status: true, scale: true },
  strategy: {
    applyDefaults({ spec }) {
      spec.replicas ??= 1
      defaultPodTemplate(spec.template)
    },
    prepareForCreate(object, context) {
      object.status = zeroOf('io.k8s.api.apps.v1.ReplicaSetStatus') as ReplicaSet['status']
      dropDisabled(object, undefined, context)
    },
    prepareForUpdate(object, old, context) {
      if (context.subresource !== 'status') dropDisabled(object, old, context)
    },
    validate: ({ spec }, errors) => validateSpec(spec, errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return validateReplicaStatus(object.status ?? {}, errors)
      validateSpec(object.spec, errors)
      validateImmutable(object.spec.selector, old.spec.selector, 'spec.selector', errors)
    },
    warnings: (object, old, { subresource }) => workloadWarnings(object, old, subresource),
    generation: { changed: specChanged },
  },
  example: {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'busybox:1.37' }] },
      },
    },
  },
})

function validateSpec(spec: Spec, errors: FieldErrors): void {
  validateNotNegative(spec.replicas, 'spec.replicas', errors)
  validateNotNegative(spec.minReadySeconds, 'spec.minReadySeconds', errors)
  validateSelector(spec.selector, 'deployment', errors)
  if (validateSelected(spec, errors)) validateLastingTemplate(spec.template, errors)
}
