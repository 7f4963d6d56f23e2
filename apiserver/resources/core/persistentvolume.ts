import type { V1PersistentVolumeStatus } from '@kubernetes/client-node'
import { roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, nameColumn, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { forbidden, invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { diffValues } from '../../validation/unified-diff.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { newLabelOf, nodeTermWarnings } from '../parts/node-labels.ts'
import { type PersistentVolumeSpec, sources, validateVolumeSpec } from '../parts/persistent-volume-spec.ts'
import { defaultVolumeSource } from '../parts/volume-defaults.ts'
import { accessModesText, orUnset } from '../parts/volume-rules.ts'
import { validateImmutable } from '../parts/workload.ts'

type Spec = PersistentVolumeSpec
interface PersistentVolume {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: Spec
  status?: Wire<V1PersistentVolumeStatus>
}

export const persistentvolume = resource<PersistentVolume>({
  group: '',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shortNames: ['pv'],
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
    validate: ({ metadata, spec }, errors) => validateVolumeSpec(spec, metadata.name ?? '', errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return
      // Upstream looks at the whole spec twice.
      for (let pass = 0; pass < 2; pass++) validateVolumeSpec(object.spec, object.metadata.name ?? '', errors)
      validateSpecUpdate(object.spec, old.spec, errors)
    },
    returnsDeletedObject: true,
  },
  example: {
    metadata: { name: 'disk-1' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  },
})

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

/**
 * Returns the old affinity with the names that labels have today, where the new one has them. Upstream looks the name
 * up in a map of Go, where the name of any other label is empty.
 */
function withNewLabels({ nodeAffinity: old }: Spec, { nodeAffinity: asked }: Spec): Spec['nodeAffinity'] {
  const affinity = structuredClone(old)
  for (const [index, term] of (affinity?.required?.nodeSelectorTerms ?? []).entries()) {
    for (const [place, expression] of (term.matchExpressions ?? []).entries()) {
      const given = asked?.required?.nodeSelectorTerms?.[index]?.matchExpressions?.[place]
      if (given && (newLabelOf(expression.key) ?? '') === (given.key ?? '')) expression.key = given.key
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
