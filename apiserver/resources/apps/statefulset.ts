import type { V1StatefulSetSpec, V1StatefulSetStatus } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { numberOf, validateIntOrPercent, validateNotMoreThanAll } from '../../validation/int-or-percent.ts'
import { dns1123Label } from '../../validation/names.ts'
import { validateAnnotations, validateLabels } from '../../validation/object-meta.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { reject, validateNotNegative } from '../parts/messages.ts'
import { validatePodAnnotations } from '../parts/pod-spec/validate-annotations.ts'
import { defaultPodTemplate } from '../parts/pod-template.ts'
import { type Claim, claimSpecWarnings, defaultClaim, validateClaimSpec } from '../parts/volume-claim.ts'
import {
  containerCells,
  containerColumns,
  examplePods,
  validateLastingTemplate,
  validateSelected,
  validateSelector,
  type Workload,
  type WorkloadSpec,
  workloadStrategy,
} from '../parts/workload.ts'

type Spec = Omit<Wire<V1StatefulSetSpec>, keyof WorkloadSpec | 'volumeClaimTemplates'> &
  WorkloadSpec & { volumeClaimTemplates?: Claim[] }
interface StatefulSet extends Workload {
  spec: Spec
  status?: Partial<Wire<V1StatefulSetStatus>>
}

export const statefulset = resource<StatefulSet>({
  group: 'apps',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  namespaced: true,
  shortNames: ['sts'],
  categories: ['all'],
  columns: [nameColumn, column('Ready', 'Ready pods of those wanted.'), ageColumn, ...containerColumns],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    age(metadata.creationTimestamp, nowMs),
    ...containerCells(spec),
  ],
  subresources: { status: true, scale: true },
  strategy: workloadStrategy({
    validateName: dns1123Label,
    statusSchema: 'io.k8s.api.apps.v1.StatefulSetStatus',
    applyDefaults,
    validateSpec,
    dropGated: dropMaxUnavailable,
    validateLasting(spec, old, errors) {
      if (!deepEqual(lastingPart(spec), lastingPart(old))) errors.push(forbidden('spec', LASTING))
    },
    validateStatus,
    warnings,
  }),
  example: {
    metadata: { name: 'db' },
    spec: { serviceName: 'db', replicas: 1, ...examplePods('db') },
  },
})

const LASTING =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
/** Returns the part of the spec that an update may not change. */
const lastingPart = (spec: Spec): Partial<Spec> => ({
  ...spec,
  replicas: undefined,
  ordinals: undefined,
  template: undefined,
  updateStrategy: undefined,
  revisionHistoryLimit: undefined,
  persistentVolumeClaimRetentionPolicy: undefined,
  minReadySeconds: undefined,
})

function applyDefaults({ spec }: StatefulSet): void {
  spec.podManagementPolicy ||= 'OrderedReady'
  spec.updateStrategy ??= {}
  if (!spec.updateStrategy.type) {
    spec.updateStrategy.type = 'RollingUpdate'
    spec.updateStrategy.rollingUpdate ??= {}
  }
  if (spec.updateStrategy.type === 'RollingUpdate' && spec.updateStrategy.rollingUpdate)
    spec.updateStrategy.rollingUpdate.partition ??= 0
  spec.persistentVolumeClaimRetentionPolicy ??= {}
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain'
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain'
  spec.replicas ??= 1
  spec.revisionHistoryLimit ??= 10
  defaultPodTemplate(spec.template)
  for (const claim of spec.volumeClaimTemplates ?? []) {
    Object.assign(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
    defaultClaim(claim)
  }
}

const policies = ['Retain', 'Delete']

function dropMaxUnavailable({ updateStrategy }: Spec, old: Spec | undefined, featureGates: FeatureGates): void {
  const isInUse = old?.updateStrategy?.rollingUpdate?.maxUnavailable !== undefined
  if (!updateStrategy?.rollingUpdate || featureGates.MaxUnavailableStatefulSet || isInUse) return
  updateStrategy.rollingUpdate.maxUnavailable = undefined
}

function validateSpec(spec: Spec, errors: FieldErrors, old?: Spec): void {
  const management = spec.podManagementPolicy
  if (!management) errors.push(required('spec.podManagementPolicy'))
  else if (management !== 'OrderedReady' && management !== 'Parallel')
    errors.push(invalid('spec.podManagementPolicy', management, "must be 'OrderedReady' or 'Parallel'"))
  validateUpdateStrategy(spec.updateStrategy ?? {}, errors)
  const retention = spec.persistentVolumeClaimRetentionPolicy ?? {}
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    const policy = retention[name]
    if (policy !== undefined && !policies.includes(policy))
      errors.push(notSupported(`spec.persistentVolumeClaimRetentionPolicy.${name}`, policy, policies))
  }
  // Claims and the name of the Service cannot change: an update does not look at them again.
  for (const [index, claim] of (old ? [] : (spec.volumeClaimTemplates ?? [])).entries())
    validateClaimSpec(claim.spec, `spec.volumeClaimTemplates[${index}].spec`, errors)
  validateNotNegative(spec.replicas, 'spec.replicas', errors)
  validateNotNegative(spec.minReadySeconds, 'spec.minReadySeconds', errors)
  validateNotNegative(spec.ordinals?.start, 'spec.ordinals.start', errors)
  if (!old && spec.serviceName) reject(errors, 'spec.serviceName', spec.serviceName, dns1123Label(spec.serviceName))
  validateSelector(spec.selector, 'statefulset', errors)
  if (validateSelected(spec, errors, { detail: '' }))
    validateLastingTemplate(
      withClaims(spec),
      errors,
      'activeDeadlineSeconds in StatefulSet is not Supported',
      (path) => {
        // Upstream looks at these a second time, under paths that do not exist.
        const { labels, annotations } = spec.template.metadata ?? {}
        validateLabels(labels, `${path}.labels`, errors)
        validateAnnotations(annotations, `${path}.annotations`, errors)
        validatePodAnnotations(
          spec.template.metadata ?? {},
          spec.template.spec ?? { containers: [] },
          `${path}.annotations`,
          errors,
        )
      },
    )
}

/** The template as its pods will be: each claim is a volume, before any of that name that the template has itself. */
function withClaims({ template, volumeClaimTemplates = [] }: Spec): Spec['template'] {
  if (volumeClaimTemplates.length === 0 || !template.spec) return template
  const claimed = new Set(volumeClaimTemplates.map(({ metadata }) => metadata.name ?? ''))
  const claims = [...claimed].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const others = (template.spec.volumes ?? []).filter(({ name }) => !claimed.has(name))
  return { ...template, spec: { ...template.spec, volumes: [...others, ...claims] } }
}

function validateUpdateStrategy(strategy: NonNullable<Spec['updateStrategy']>, errors: FieldErrors): void {
  const at = 'spec.updateStrategy'
  const { type, rollingUpdate } = strategy
  switch (type) {
    case 'OnDelete':
      if (!rollingUpdate) return
      errors.push(
        invalid(
          `${at}.rollingUpdate`,
          dump('io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy', rollingUpdate),
          "only allowed for updateStrategy 'RollingUpdate'",
        ),
      )
      return
    case 'RollingUpdate': {
      if (!rollingUpdate) return
      const { partition, maxUnavailable } = rollingUpdate
      validateNotNegative(partition, `${at}.rollingUpdate.partition`, errors)
      if (maxUnavailable === undefined) return
      validateIntOrPercent(maxUnavailable, `${at}.rollingUpdate.maxUnavailable`, errors)
      if (numberOf(maxUnavailable) === 0)
        errors.push(invalid(`${at}.rollingUpdate.maxUnavailable`, maxUnavailable, 'cannot be 0'))
      validateNotMoreThanAll(maxUnavailable, `${at}.rollingUpdate.maxUnavailable`, errors)
      return
    }
    default: {
      const shown = dump('io.k8s.api.apps.v1.StatefulSetUpdateStrategy', strategy)
      errors.push(invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'"))
    }
  }
}

function warnings({ volumeClaimTemplates = [], revisionHistoryLimit = 0 }: Spec, old?: StatefulSet): string[] {
  // Upstream, too, has two paths for the same.
  const within = old ? '.Spec' : ''
  const claims = volumeClaimTemplates.flatMap(({ spec }, index) =>
    claimSpecWarnings(spec, `spec.volumeClaimTemplates[${index}]${within}`),
  )
  const history =
    'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended'
  return [...claims, ...(revisionHistoryLimit < 0 ? [history] : [])]
}

function validateStatus({ status = {} }: StatefulSet, old: StatefulSet, errors: FieldErrors): void {
  const counts = ['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const
  for (const name of counts) validateNotNegative(status[name], `status.${name}`, errors)
  validateNotNegative(status.observedGeneration, 'status.observedGeneration', errors)
  validateNotNegative(status.collisionCount, 'status.collisionCount', errors)
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0, collisionCount = 0 } = status
  for (const name of ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const) {
    const count = status[name] ?? 0
    if (count > replicas) errors.push(invalid(`status.${name}`, count, 'cannot be greater than status.replicas'))
  }
  if (availableReplicas > readyReplicas)
    errors.push(invalid('status.availableReplicas', availableReplicas, 'cannot be greater than status.readyReplicas'))
  if (old.status?.collisionCount !== undefined && collisionCount < old.status.collisionCount)
    errors.push(invalid('status.collisionCount', collisionCount, 'cannot be decremented'))
}
