/** Validates the spec of a persistent volume. Upstream: ValidatePersistentVolumeSpec. */

import { posix } from 'node:path'
import type { V1PersistentVolumeSpec } from '@kubernetes/client-node'
import { isNegativeQuantity, quantityValue } from '../../../shared/api/quantities/quantity.ts'
import type { Wire } from '../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dns1123Subdomain } from '../../validation/names.ts'
import { sortedByKey } from '../../values/sorted-by-key.ts'
import { reject } from './messages.ts'
import { validateNodeSelector } from './node-selector.ts'
import { validatePersistentSource } from './persistent-volume-sources.ts'
import { validateAccessModes, validatePositive, validateVolumeMode } from './volume-rules.ts'

export type PersistentVolumeSpec = Wire<V1PersistentVolumeSpec>

/** Kinds of volumes, in the order in which upstream looks for them. */
export const sources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const
const policies = ['Delete', 'Recycle', 'Retain']

/** `name` is the volume's. */
export function validateVolumeSpec(spec: PersistentVolumeSpec, name: string, errors: FieldErrors): void {
  validateModes(spec, 'spec', errors)
  validateCapacity(spec, errors)
  const policy = spec.persistentVolumeReclaimPolicy
  if (policy && !policies.includes(policy))
    errors.push(notSupported('spec.persistentVolumeReclaimPolicy', policy, policies))
  validateNodeAffinity(spec, errors)
  validateSources(spec, name, 'spec', errors)
  if (spec.storageClassName)
    reject(errors, 'spec.storageClassName', spec.storageClassName, dns1123Subdomain(spec.storageClassName))
  validateVolumeMode(spec.volumeMode, 'spec.volumeMode', errors)
  validateAttributesClass(spec, errors)
}

const INLINE = 'in the context of inline volumes'

/** Validates the volume that a VolumeAttachment carries: one of a CSI driver that no claim has. */
export function validateInlineSpec(spec: PersistentVolumeSpec, path: string, errors: FieldErrors): void {
  const refuse = (field: string, what = 'may not be specified'): void => {
    errors.push(forbidden(`${path}.${field}`, `${what} ${INLINE}`))
  }
  if (spec.claimRef) refuse('claimRef')
  if (Object.keys(spec.capacity ?? {}).length > 0) refuse('capacity')
  if (!spec.csi) errors.push(required(`${path}.csi`, `has to be specified ${INLINE}`))
  validateModes(spec, path, errors)
  const policy = spec.persistentVolumeReclaimPolicy
  if (policy && policy !== 'Retain') refuse('persistentVolumeReclaimPolicy', 'may only be Retain')
  if (spec.nodeAffinity) refuse('nodeAffinity')
  validateSources(spec, '', path, errors)
  if (spec.storageClassName) refuse('storageClassName')
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem')
    refuse('volumeMode', 'may not specify volumeMode other than Filesystem')
}

function validateModes({ accessModes }: PersistentVolumeSpec, path: string, errors: FieldErrors): void {
  if (!accessModes?.length) errors.push(required(`${path}.accessModes`))
  validateAccessModes(accessModes ?? [], `${path}.accessModes`, errors)
}

function validateCapacity(spec: PersistentVolumeSpec, errors: FieldErrors): void {
  const capacity = spec.capacity ?? {}
  const names = Object.keys(capacity)
  if (names.length === 0) errors.push(required('spec.capacity'))
  if (capacity.storage === undefined || names.length > 1)
    errors.push(notSupported('spec.capacity', spec.capacity ? sortedByKey(spec.capacity) : null, ['storage']))
  for (const name of names) {
    const quantity = capacity[name] ?? '0'
    const at = `spec.capacity[${name}]`
    if (isNegativeQuantity(quantity))
      errors.push(invalid(at, quantityValue(quantity) || -1, 'must be a valid resource quantity'))
    validatePositive(quantity, at, errors)
  }
}

function validateNodeAffinity({ nodeAffinity }: PersistentVolumeSpec, errors: FieldErrors): void {
  if (!nodeAffinity) return
  const field = 'spec.nodeAffinity.required'
  if (!nodeAffinity.required) errors.push(required(field, 'must specify required node constraints'))
  else validateNodeSelector(nodeAffinity.required, field, errors)
}

const shownAs: { [source: string]: string } = { cephfs: 'cephFS' }

/** A second source is not looked at, but for upstream's exception, flexVolume. */
function validateSources(spec: PersistentVolumeSpec, volume: string, path: string, errors: FieldErrors): void {
  const given = sources.filter((name) => spec[name] !== undefined)
  for (const [index, name] of given.entries()) {
    const at = `${path}.${name}`
    if (index > 0 && name !== 'flexVolume')
      errors.push(forbidden(`${path}.${shownAs[name] ?? name}`, 'may not specify more than 1 volume type'))
    else {
      validatePersistentSource(name, spec[name], { volume, path: at, errors })
      if (name === 'local' && !spec.nodeAffinity)
        errors.push(required(`${path}.nodeAffinity`, 'Local volume requires node affinity'))
    }
  }
  if (given.length === 0) errors.push(required(path, 'must specify a volume type'))
  if (spec.hostPath && isRoot(spec.hostPath.path) && spec.persistentVolumeReclaimPolicy === 'Recycle')
    errors.push(forbidden(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'"))
}

const isRoot = (path: string): boolean => path.startsWith('/') && posix.normalize(path) === '/'

function validateAttributesClass(
  { volumeAttributesClassName: name, csi }: PersistentVolumeSpec,
  errors: FieldErrors,
): void {
  if (name === undefined) return
  const field = 'spec.volumeAttributesClassName'
  if (name === '') errors.push(required(field, 'an empty string is disallowed'))
  else reject(errors, field, name, dns1123Subdomain(name))
  if (!csi) errors.push(required('spec.csi', 'has to be specified when using volumeAttributesClassName'))
}
