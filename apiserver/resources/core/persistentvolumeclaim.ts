import { compareQuantities, isNegativeQuantity, quantityValue } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { qualifiedName } from '../../validation/names.ts'
import { diffValues } from '../../validation/unified-diff.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { isNative } from '../parts/container-resource-names.ts'
import { reject } from '../parts/messages.ts'
import {
  type Claim,
  type ClaimSpec,
  claimSpecWarnings,
  defaultClaim,
  isKnownSource,
  validateClaimSpec,
} from '../parts/volume-claim.ts'
import { accessModesText, orUnset } from '../parts/volume-rules.ts'
import { validateImmutable } from '../parts/workload.ts'

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'

export const persistentvolumeclaim = resource<Claim>({
  group: '',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
  shortNames: ['pvc'],
  columns: [
    nameColumn,
    column('Status', 'Phase of the claim.'),
    column('Volume', 'Volume that it is bound to.'),
    column('Capacity', 'Size of the volume.'),
    column('Access Modes', 'How the volume may be mounted.'),
    column('StorageClass', 'Class that it asks for.'),
    column('VolumeAttributesClass', 'Attributes that it asks for.'),
    ageColumn,
    column('VolumeMode', 'Filesystem or Block.', wide),
  ],
  cells,
  subresources: { status: true },
  strategy: {
    applyDefaults: defaultClaim,
    prepareForCreate(object) {
      object.status = { phase: 'Pending' }
      normalizeSources(object.spec)
    },
    prepareForUpdate(object, old, { subresource }) {
      if (subresource !== 'status') normalizeSources(object.spec, old.spec)
    },
    validate: ({ spec }, errors) => validateClaimSpec(spec, 'spec', errors),
    warnings: ({ metadata, spec }, _old, { subresource }) =>
      subresource ? [] : [...(isOfClass(metadata) ? [CLASS_IN_ANNOTATION] : []), ...claimSpecWarnings(spec, 'spec')],
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return validateStatus(object, errors)
      validateClaimSpec(object.spec, 'spec', errors, old.spec)
      validateSpecUpdate(object, old, errors)
    },
    returnsDeletedObject: true,
  },
  example: {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
})

function cells({ metadata, spec, status }: Claim, nowMs: number): unknown[] {
  const isBound = !!spec.volumeName
  return [
    metadata.name,
    metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''),
    spec.volumeName ?? '',
    isBound ? (status?.capacity?.storage ?? '0') : '',
    isBound ? accessModesText(status?.accessModes) : '',
    metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '',
    orUnset(spec.volumeAttributesClassName),
    age(metadata.creationTimestamp, nowMs),
    orUnset(spec.volumeMode),
  ]
}

/** Fills in each of the two fields for a source from the other. */
function normalizeSources(spec: ClaimSpec, old?: ClaimSpec): void {
  const isInUse = old?.dataSource || old?.dataSourceRef || spec.dataSourceRef
  if (!isInUse && spec.dataSource && !isKnownSource(spec.dataSource)) spec.dataSource = undefined
  // The feature gate CrossNamespaceVolumeDataSource, which allows it, is off.
  if (spec.dataSourceRef?.namespace !== undefined) spec.dataSourceRef = undefined
  if (spec.dataSource && !spec.dataSourceRef) spec.dataSourceRef = { ...spec.dataSource }
  else if (spec.dataSourceRef && !spec.dataSource) spec.dataSource = { ...spec.dataSourceRef }
}

const CHANGED =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
const SPEC = 'io.k8s.api.core.v1.PersistentVolumeClaimSpec'

function validateSpecUpdate({ spec }: Claim, old: Claim, errors: FieldErrors): void {
  const allowed = structuredClone(spec)
  const before = structuredClone(old.spec)
  if (!before.volumeName) before.volumeName = allowed.volumeName
  const storage = spec.resources?.requests?.storage
  const oldStorage = old.spec.resources?.requests?.storage
  const isBound = old.status?.phase === 'Bound'
  if (isBound && allowed.resources?.requests && oldStorage !== undefined)
    allowed.resources.requests.storage = oldStorage
  if (isBound || !old.spec.volumeName) before.volumeAttributesClassName = allowed.volumeAttributesClassName
  if (!deepEqual(allowed, before)) {
    errors.push(forbidden('spec', `${CHANGED}\n${diffValues(dump(SPEC, before), dump(SPEC, allowed))}`))
  }
  const capacity = old.status?.capacity?.storage ?? '0'
  const isLess = compareQuantities(storage ?? '0', oldStorage ?? '0') < 0
  if (isLess && compareQuantities(storage ?? '0', capacity) <= 0)
    errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'))
  validateImmutable(spec.volumeMode, old.spec.volumeMode, 'volumeMode', errors)
}

function validateStatus({ status = {} }: Claim, errors: FieldErrors): void {
  const { capacity, allocatedResourceStatuses, allocatedResources } = status
  for (const [name, amount] of Object.entries(capacity ?? {}))
    validateAmount(`status.capacity[${name}]`, amount, errors)
  const statuses = 'status.allocatedResourceStatuses'
  for (const [name, state] of Object.entries(allocatedResourceStatuses ?? {})) {
    validateResourceName(statuses, name, errors)
    if (!resizeStates.includes(state)) errors.push(notSupported(statuses, name, resizeStates))
  }
  const allocated = 'status.allocatedResources'
  for (const [name, amount] of Object.entries(allocatedResources ?? {}))
    if (validateResourceName(allocated, name, errors)) validateAmount(`${allocated}[${name}]`, amount, errors)
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

/** Returns whether the name is valid. Of Kubernetes' own resources a claim has storage alone. */
function validateResourceName(field: string, name: string, errors: FieldErrors): boolean {
  const problems = qualifiedName(name)
  reject(errors, field, name, problems)
  if (problems.length > 0) return false
  const isValid = !isNative(name) || name === 'storage'
  if (!isValid) errors.push(notSupported(field, name, ['storage']))
  return isValid
}

function validateAmount(field: string, amount: string, errors: FieldErrors): void {
  if (isNegativeQuantity(amount))
    errors.push(invalid(field, quantityValue(amount), 'must be a valid resource quantity'))
}

const CLASS = 'volume.beta.kubernetes.io/storage-class'
const CLASS_IN_ANNOTATION = `metadata.annotations[${CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead`
const isOfClass = ({ annotations }: ObjectMeta): boolean => annotations?.[CLASS] !== undefined
