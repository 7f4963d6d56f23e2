import type { V1PersistentVolumeSpec, V1PersistentVolumeStatus } from '@kubernetes/client-node'
import { isNegativeQuantity, quantityValue, roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, nameColumn, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { dns1123Subdomain } from '../../validation/names.ts'
import { diffValues } from '../../validation/unified-diff.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { reject } from '../parts/messages.ts'
import { newLabelOf, nodeTermWarnings } from '../parts/node-labels.ts'
import { validateNodeSelector } from '../parts/node-selector.ts'
import { defaultVolumeSource } from '../parts/volume-defaults.ts'
import {
  accessModesText,
  hostPathTypes,
  orUnset,
  validateAccessModes,
  validatePositive,
  validateVolumeMode,
} from '../parts/volume-rules.ts'
import { validateImmutable } from '../parts/workload.ts'

type Spec = Wire<V1PersistentVolumeSpec>
interface PersistentVolume {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: Spec
  status?: Wire<V1PersistentVolumeStatus>
}

export const persistentvolume = resource<PersistentVolume>({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  singular: 'persistentvolume',
  namespaced: false,
  shortNames: ['pv'],
  schema: 'io.k8s.api.core.v1.PersistentVolume',
  columns: [
    nameColumn,
    column('Capacity', 'Size of the volume.'),
    column('Access Modes', 'How the volume may be mounted.'),
    column('Reclaim Policy', 'What becomes of it when its claim goes.'),
    column('Status', 'Phase of the volume.'),
    column('Claim', 'Claim that it is bound to.'),
    column('StorageClass', 'Class that it belongs to.'),
    column('VolumeAttributesClass', 'Attributes that it has.'),
    column('Reason', 'Why it is in this phase.'),
    ageColumn,
    column('VolumeMode', 'Filesystem or Block.', wide),
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec.capacity?.storage ?? '0',
    accessModesText(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? '',
    metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''),
    spec.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '',
    metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName ?? '',
    orUnset(spec.volumeAttributesClassName),
    status?.reason ?? '',
    age(metadata.creationTimestamp, nowMs),
    orUnset(spec.volumeMode),
  ],
  subresources: { status: true },
  strategy: {
    applyDefaults({ spec, ...object }) {
      spec.persistentVolumeReclaimPolicy ||= 'Retain'
      spec.volumeMode ??= 'Filesystem'
      roundUpAmounts(spec.capacity)
      defaultVolumeSource(spec)
      if (object.status) object.status.phase ||= 'Pending'
    },
    warnings: ({ metadata, spec }, _old, { subresource }) => (subresource ? [] : warnings(metadata, spec)),
    prepareForCreate(object, { nowMs }) {
      object.status = { phase: 'Pending', lastPhaseTransitionTime: toTime(nowMs) }
    },
    prepareForUpdate(object, old, { subresource, nowMs }) {
      if (subresource !== 'status') return
      object.status ??= { phase: 'Pending' }
      const { status } = object
      const { phase, lastPhaseTransitionTime: known } = old.status ?? {}
      const given = status.lastPhaseTransitionTime
      if (status.phase === phase) {
        if (!given && known) status.lastPhaseTransitionTime = known
      } else if (!given || given === known) status.lastPhaseTransitionTime = toTime(nowMs)
    },
    validate: ({ spec }, errors) => validateSpec(spec, errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return
      // Upstream looks at the whole spec twice.
      for (let pass = 0; pass < 2; pass++) validateSpec(object.spec, errors)
      validateSpecUpdate(object.spec, old.spec, errors)
    },
    returnsDeletedObject: true,
  },
  example: {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk-1' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  },
})

/** Kinds of volumes, in the order in which upstream looks for them. */
const sources = [
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

function validateSpec(spec: Spec, errors: FieldErrors): void {
  if (!spec.accessModes?.length) errors.push(required('spec.accessModes'))
  validateAccessModes(spec.accessModes ?? [], 'spec.accessModes', errors)
  const capacity = spec.capacity ?? {}
  const names = Object.keys(capacity)
  if (names.length === 0) errors.push(required('spec.capacity'))
  if (capacity.storage === undefined || names.length > 1)
    errors.push(notSupported('spec.capacity', inOrder(spec.capacity), ['storage']))
  for (const name of names) {
    const quantity = capacity[name] ?? '0'
    const at = `spec.capacity[${name}]`
    if (isNegativeQuantity(quantity))
      errors.push(invalid(at, quantityValue(quantity) || -1, 'must be a valid resource quantity'))
    validatePositive(quantity, at, errors)
  }
  const policy = spec.persistentVolumeReclaimPolicy
  if (policy && !policies.includes(policy))
    errors.push(notSupported('spec.persistentVolumeReclaimPolicy', policy, policies))
  validateNodeAffinity(spec, errors)
  const [first, ...others] = sources.filter((name) => spec[name] !== undefined)
  if (first) validateSource(spec, first, errors)
  for (const name of others) {
    if (name === 'flexVolume') validateSource(spec, name, errors)
    else errors.push(forbidden(`spec.${shownAs[name] ?? name}`, 'may not specify more than 1 volume type'))
  }
  if (!first) errors.push(required('spec', 'must specify a volume type'))
  if (spec.hostPath && /^\/+$/.test(spec.hostPath.path) && policy === 'Recycle')
    errors.push(forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"))
  if (spec.storageClassName)
    reject(errors, 'spec.storageClassName', spec.storageClassName, dns1123Subdomain(spec.storageClassName))
  validateVolumeMode(spec.volumeMode, 'spec.volumeMode', errors)
  validateAttributesClass(spec, errors)
}

/** Returns a map as Go prints it. */
const inOrder = (map: Record<string, string> | undefined): object | null =>
  map ? Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))) : null

function validateAttributesClass({ volumeAttributesClassName: name, csi }: Spec, errors: FieldErrors): void {
  if (name === undefined) return
  const field = 'spec.volumeAttributesClassName'
  if (name === '') errors.push(required(field, 'an empty string is disallowed'))
  else reject(errors, field, name, dns1123Subdomain(name))
  if (!csi) errors.push(required('spec.csi', 'has to be specified when using volumeAttributesClassName'))
}

function validateNodeAffinity({ nodeAffinity }: Spec, errors: FieldErrors): void {
  if (!nodeAffinity) return
  const field = 'spec.nodeAffinity.required'
  if (!nodeAffinity.required) errors.push(required(field, 'must specify required node constraints'))
  else validateNodeSelector(nodeAffinity.required, field, errors)
}

const shownAs: { [source: string]: string } = { cephfs: 'cephFS' }

/** Of a volume's source; a second one is not looked at, but for upstream's exception, flexVolume. */
function validateSource(spec: Spec, name: (typeof sources)[number], errors: FieldErrors): void {
  const needed: { [source: string]: string[] } = {
    hostPath: ['path'],
    csi: ['driver', 'volumeHandle'],
    local: ['path'],
    flexVolume: ['driver'],
  }
  const source = spec[name] as unknown as Record<string, unknown>
  for (const field of needed[name] ?? []) if (!source[field]) errors.push(required(`spec.${name}.${field}`))
  if (spec.hostPath?.type !== undefined && name === 'hostPath' && !hostPathTypes.includes(spec.hostPath.type))
    errors.push(notSupported('spec.hostPath.type', spec.hostPath.type, hostPathTypes))
  if (name === 'local' && !spec.nodeAffinity)
    errors.push(required('spec.nodeAffinity', 'Local volume requires node affinity'))
}

const SOURCE_CHANGED = 'spec.persistentvolumesource is immutable after creation'
const goNames = new Set(sources.map((name) => name.toLowerCase()))
const sourceOf = (spec: Spec): object => Object.fromEntries(sources.map((name) => [name, spec[name]]))
const dumpSource = (spec: Spec): object => {
  const dumped = dump('io.k8s.api.core.v1.PersistentVolumeSpec', spec) as Record<string, unknown>
  return Object.fromEntries(Object.entries(dumped).filter(([name]) => goNames.has(name.toLowerCase())))
}

function validateSpecUpdate(spec: Spec, old: Spec, errors: FieldErrors): void {
  if (!deepEqual(sourceOf(spec), sourceOf(old)))
    errors.push(
      forbidden('spec.persistentvolumesource', `${SOURCE_CHANGED}\n${diffValues(dumpSource(old), dumpSource(spec))}`),
    )
  validateImmutable(spec.volumeMode, old.volumeMode, 'volumeMode', errors)
  const affinity = spec.nodeAffinity
  if (old.nodeAffinity && !deepEqual(affinity, old.nodeAffinity) && !deepEqual(affinity, withNewLabels(old, spec)))
    errors.push(
      invalid(
        'nodeAffinity',
        affinity ? dump('io.k8s.api.core.v1.VolumeNodeAffinity', affinity) : null,
        'field is immutable, except for updating from beta label to GA',
      ),
    )
}

/** Returns the old affinity with the names that labels have today, where the new one has them. */
function withNewLabels({ nodeAffinity: old }: Spec, { nodeAffinity: asked }: Spec): Spec['nodeAffinity'] {
  const affinity = structuredClone(old)
  for (const [index, term] of (affinity?.required?.nodeSelectorTerms ?? []).entries()) {
    for (const [place, expression] of (term.matchExpressions ?? []).entries()) {
      const key = asked?.required?.nodeSelectorTerms?.[index]?.matchExpressions?.[place]?.key
      if (key !== undefined && newLabelOf(expression.key) === key) expression.key = key
    }
  }
  return affinity
}

const deprecatedAnnotations = {
  'volume.beta.kubernetes.io/storage-class': 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
}
const deprecatedSources = {
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}
const recycles =
  'The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.'

function warnings({ annotations = {} }: ObjectMeta, spec: PersistentVolume['spec']): string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? []
  const at = 'spec.nodeAffinity.required.nodeSelectorTerms'
  return [
    ...Object.entries(deprecatedAnnotations).flatMap(([key, message]) =>
      annotations[key] === undefined ? [] : [`metadata.annotations[${key}]: ${message}`],
    ),
    ...(spec.persistentVolumeReclaimPolicy === 'Recycle' ? [`spec.persistentVolumeReclaimPolicy: ${recycles}`] : []),
    ...terms.flatMap((term, index) => nodeTermWarnings(term, `${at}[${index}]`)),
    ...Object.entries(deprecatedSources).flatMap(([source, message]) =>
      (spec as unknown as Record<string, unknown>)[source]
        ? [`spec.${source === 'storageos' ? 'storageOS' : source}: ${message}`]
        : [],
    ),
  ]
}
