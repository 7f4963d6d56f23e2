/** The claim of a volume, on its own and as the template of one. */
import type { V1PersistentVolumeClaimSpec, V1PersistentVolumeClaimStatus } from '@kubernetes/client-node'
import { roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { dns1123Subdomain } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { fractionWarnings } from './fraction-warnings.ts'
import { reject } from './messages.ts'
import { validateAccessModes, validatePositive, validateVolumeMode } from './volume-rules.ts'

export type ClaimSpec = Omit<Wire<V1PersistentVolumeClaimSpec>, 'selector'> & { selector?: LabelSelector }
export interface Claim {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: ClaimSpec
  status?: Wire<V1PersistentVolumeClaimStatus>
}

export function defaultClaim(claim: Claim): void {
  claim.status ??= {}
  claim.status.phase ||= 'Pending'
  claim.spec.volumeMode ??= 'Filesystem'
  const { resources } = claim.spec
  const { capacity, allocatedResources } = claim.status
  for (const amounts of [resources?.limits, resources?.requests, capacity, allocatedResources]) roundUpAmounts(amounts)
}

/** `old` is the spec before an update: what names a group there may name any. */
export function validateClaimSpec(spec: ClaimSpec, path: string, errors: FieldErrors, old?: ClaimSpec): void {
  const anyGroup = (old?.dataSource?.apiGroup ?? old?.dataSourceRef?.apiGroup) !== undefined
  const field = (name: string) => `${path}.${name}`
  if (!spec.accessModes?.length) errors.push(required(field('accessModes'), 'at least 1 access mode is required'))
  validateLabelSelector(spec.selector, field('selector'), errors)
  validateAccessModes(spec.accessModes ?? [], field('accessModes'), errors)
  const storage = spec.resources?.requests?.storage
  if (storage === undefined) errors.push(required(field('resources[storage]')))
  else validatePositive(storage, field('resources[storage]'), errors)
  if (spec.storageClassName)
    reject(errors, field('storageClassName'), spec.storageClassName, dns1123Subdomain(spec.storageClassName))
  validateVolumeMode(spec.volumeMode, field('volumeMode'), errors)
  const sourceErrors: FieldErrors = []
  validateSource(spec.dataSource, field('dataSource'), sourceErrors)
  validateSource(spec.dataSourceRef, field('dataSourceRef'), sourceErrors)
  errors.push(...sourceErrors.filter((error) => !anyGroup || !error.field.endsWith('.apiGroup')))
  const { dataSource, dataSourceRef } = spec
  if (dataSourceRef?.namespace) {
    if (dataSource)
      errors.push(invalid(path, pathItself, 'may not be specified when dataSourceRef.namespace is specified'))
  } else if (dataSource && dataSourceRef && !deepEqual(dataSource, dataSourceRef)) {
    errors.push(invalid(path, pathItself, 'must match dataSourceRef'))
  }
  if (spec.volumeAttributesClassName)
    reject(
      errors,
      field('volumeAttributesClassName'),
      spec.volumeAttributesClassName,
      dns1123Subdomain(spec.volumeAttributesClassName),
    )
}

/** Go prints a path, which is given for the value here, as an empty object. */
const pathItself = {}

interface Source {
  apiGroup?: string | null
  kind: string
  name: string
}
function validateSource(source: Source | undefined, path: string, errors: FieldErrors): void {
  if (!source) return
  if (!source.name) errors.push(required(`${path}.name`))
  if (!source.kind) errors.push(required(`${path}.kind`))
  if (!source.apiGroup && source.kind !== 'PersistentVolumeClaim')
    errors.push(invalid(path, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
  if (source.apiGroup) reject(errors, `${path}.apiGroup`, source.apiGroup, dns1123Subdomain(source.apiGroup))
}

/** Sources that the older of the two fields knows; others it drops without a word. */
export const isKnownSource = ({ apiGroup, kind }: Source): boolean =>
  (kind === 'PersistentVolumeClaim' && !apiGroup) ||
  (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io')

export const claimSpecWarnings = ({ resources = {} }: ClaimSpec, path: string): string[] => [
  ...fractionWarnings(resources.requests, ['storage'], `${path}.resources.requests`),
  ...fractionWarnings(resources.limits, ['storage'], `${path}.resources.limits`),
]
