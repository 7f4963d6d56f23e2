import type { V1DaemonSetSpec, V1DaemonSetStatus } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { numberOf, validateIntOrPercent, validateNotMoreThanAll } from '../../validation/int-or-percent.ts'
import { validateLabelSelector } from '../../validation/label-selector.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { validateNotNegative } from '../parts/messages.ts'
import { defaultPodTemplate, labelText } from '../parts/pod-template.ts'
import {
  examplePods,
  isEmptySelector,
  templateCells,
  templateColumns,
  validateLastingSelector,
  validateLastingTemplate,
  validateSelected,
  type Workload,
  type WorkloadSpec,
  workloadStrategy,
} from '../parts/workload.ts'

type Spec = Omit<Wire<V1DaemonSetSpec>, keyof WorkloadSpec> & WorkloadSpec
interface DaemonSet extends Workload {
  spec: Spec
  status?: Partial<Wire<V1DaemonSetStatus>>
}

const counted = (name: string, description: string) => column(name, description, { type: 'integer' })

const strategy = workloadStrategy<DaemonSet>({
  // By `templateGeneration`, upstream.
  hasNewTemplate: ({ spec }, old) => !deepEqual(spec.template, old.spec.template),
  statusSchema: 'io.k8s.api.apps.v1.DaemonSetStatus',
  applyDefaults,
  validateSpec,
  validateStatus: ({ status = {} }, _old, errors) => validateStatus(status, errors),
})

/** Counts templates for clients of old; kept in an annotation since it left the spec. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

export const daemonset = resource<DaemonSet>({
  group: 'apps',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
  shortNames: ['ds'],
  categories: ['all'],
  columns: [
    nameColumn,
    counted('Desired', 'Nodes that should run the pod.'),
    counted('Current', 'Nodes that run it and should.'),
    counted('Ready', 'Nodes whose pod is ready.'),
    counted('Up-to-date', 'Nodes whose pod is of the present template.'),
    counted('Available', 'Nodes whose pod is available.'),
    column('Node Selector', 'Which nodes should run the pod.'),
    ageColumn,
    ...templateColumns,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    labelText(spec.template.spec?.nodeSelector),
    age(metadata.creationTimestamp, nowMs),
    ...templateCells(spec),
  ],
  subresources: { status: true },
  fieldAnnotation: TEMPLATE_GENERATION,
  strategy: {
    ...strategy,
    prepareForCreate(object, context) {
      strategy.prepareForCreate(object, context)
      setTemplateGeneration(object, 1)
    },
    prepareForUpdate(object, old, context) {
      strategy.prepareForUpdate(object, old, context)
      // The template of a write of the status is the old one.
      const changed = !deepEqual(object.spec.template, old.spec.template)
      setTemplateGeneration(object, templateGeneration(old) + (changed ? 1 : 0))
    },
    validateUpdate(object, old, errors, context) {
      if (!context.subresource) validateLastingSelector(object.spec, old.spec, errors)
      strategy.validateUpdate(object, old, errors, context)
    },
  },
  example: {
    metadata: { name: 'agent' },
    spec: examplePods('agent'),
  },
})

const templateGeneration = ({ metadata }: DaemonSet): number =>
  Number.parseInt(metadata.annotations?.[TEMPLATE_GENERATION] ?? '', 10) || 0
function setTemplateGeneration({ metadata }: DaemonSet, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
}

function applyDefaults(object: DaemonSet): void {
  setTemplateGeneration(object, templateGeneration(object))
  const { spec } = object
  spec.updateStrategy ??= {}
  spec.updateStrategy.type ||= 'RollingUpdate'
  if (spec.updateStrategy.type === 'RollingUpdate') {
    spec.updateStrategy.rollingUpdate ??= {}
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0
  }
  spec.revisionHistoryLimit ??= 10
  defaultPodTemplate(spec.template)
}

function validateSpec(spec: Spec, errors: FieldErrors): void {
  validateLabelSelector(spec.selector, 'spec.selector', errors)
  validateSelected(spec, errors, { sayInvalid: false })
  if (spec.selector && isEmptySelector(spec.selector))
    errors.push(invalid('spec.selector', spec.selector, 'empty selector is invalid for daemonset'))
  validateLastingTemplate(spec.template, errors, 'activeDeadlineSeconds in DaemonSet is not Supported')
  validateNotNegative(spec.minReadySeconds, 'spec.minReadySeconds', errors)
  validateUpdateStrategy(spec.updateStrategy ?? {}, errors)
  validateNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit', errors)
}

function validateUpdateStrategy(strategy: NonNullable<Spec['updateStrategy']>, errors: FieldErrors): void {
  const at = 'spec.updateStrategy.rollingUpdate'
  const { type, rollingUpdate } = strategy
  if (type === 'OnDelete') return
  if (type !== 'RollingUpdate') {
    const shown = dump('io.k8s.api.apps.v1.DaemonSetUpdateStrategy', strategy)
    errors.push(notSupported('spec.updateStrategy', shown, ['RollingUpdate', 'OnDelete']))
    return
  }
  if (!rollingUpdate) {
    errors.push(required(at))
    return
  }
  const { maxUnavailable, maxSurge } = rollingUpdate
  const hasUnavailable = numberOf(maxUnavailable) !== 0
  const hasSurge = numberOf(maxSurge) !== 0
  validateIntOrPercent(maxUnavailable, `${at}.maxUnavailable`, errors)
  validateIntOrPercent(maxSurge, `${at}.maxSurge`, errors)
  validateNotMoreThanAll(maxUnavailable, `${at}.maxUnavailable`, errors)
  validateNotMoreThanAll(maxSurge, `${at}.maxSurge`, errors)
  if (hasUnavailable && hasSurge)
    errors.push(invalid(`${at}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'))
  if (!hasUnavailable && !hasSurge) errors.push(required(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
}

const counts = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
] as const
function validateStatus(status: NonNullable<DaemonSet['status']>, errors: FieldErrors): void {
  for (const name of counts) validateNotNegative(status[name], `status.${name}`, errors)
}
