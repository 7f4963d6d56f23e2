/** Drivers of volumes, and what they have attached where. */
import type {
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
} from '@kubernetes/client-node'
import { nextInt64 } from '../../../shared/api/json/exact-json.ts'
import { isNegativeQuantity } from '../../../shared/api/quantities/quantity.ts'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { duplicate, forbidden, invalid, notSupported, required, tooLong } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { dns1123Subdomain, qualifiedName } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { validateDriverName } from '../parts/driver-name.ts'
import { NOT_NEGATIVE, reject, validateChoice, validateNotNegative } from '../parts/messages.ts'
import { nodeLabelWarnings, nodeTermWarnings } from '../parts/node-labels.ts'
import { validateInlineSpec } from '../parts/persistent-volume-spec.ts'
import { plain } from '../parts/plain.ts'
import { validateImmutable } from '../parts/workload.ts'

const group = 'storage.k8s.io'
const yesNo = (name: string, description: string) => column(name, description, { type: 'boolean' })

const csidriver = plain<WithMeta<V1CSIDriver>>({
  group,
  kind: 'CSIDriver',
  plural: 'csidrivers',
  columns: [
    nameColumn,
    yesNo('AttachRequired', 'Whether volumes are attached before they are mounted.'),
    yesNo('PodInfoOnMount', 'Whether it is told of the pod.'),
    yesNo('StorageCapacity', 'Whether it says how much room there is.'),
    column('TokenRequests', 'Audiences of the tokens that it needs.'),
    yesNo('RequiresRepublish', 'Whether it wants to be asked again.'),
    column('Modes', 'Which volumes it makes.'),
    ageColumn,
  ],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    spec.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
    spec.requiresRepublish ?? false,
    spec.volumeLifecycleModes?.join(',') || '<none>',
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    returnsDeletedObject: true,
    applyDefaults({ spec }) {
      spec.attachRequired ??= true
      spec.podInfoOnMount ??= false
      if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ['Persistent']
      spec.storageCapacity ??= false
      spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType'
      spec.requiresRepublish ??= false
      spec.seLinuxMount ??= false
    },
    validate({ spec }, errors) {
      const policies = ['File', 'None', 'ReadWriteOnceWithFSType']
      validateChoice(spec.fsGroupPolicy, policies, 'spec.fsGroupPolicy', errors)
      validateTokenRequests(spec.tokenRequests ?? [], errors)
      const modes = ['Persistent', 'Ephemeral']
      for (const mode of spec.volumeLifecycleModes ?? [])
        if (!modes.includes(mode)) errors.push(notSupported('spec.volumeLifecycleModes', mode, modes))
      const period = spec.nodeAllocatableUpdatePeriodSeconds
      if (period !== undefined && period < 10)
        errors.push(
          invalid('spec.nodeAllocatableUpdatePeriodSeconds', period, 'must be greater than or equal to 10 seconds'),
        )
      const inSecrets = spec.serviceAccountTokenInSecrets
      if (inSecrets !== undefined && !spec.tokenRequests?.length)
        errors.push(invalid('spec.serviceAccountTokenInSecrets', inSecrets, NO_TOKENS))
    },
    /** Nothing scales by volumes yet: the gate is closed. */
    prepareForCreate({ spec }) {
      spec.preventPodSchedulingIfMissing = undefined
    },
    prepareForUpdate({ metadata, spec }, old) {
      if (!deepEqual(spec, old.spec)) metadata.generation = nextInt64(old.metadata.generation ?? 0)
    },
    warnings: ({ spec }, old) =>
      !(old && deepEqual(spec.tokenRequests ?? [], old.spec.tokenRequests ?? [])) &&
      spec.tokenRequests?.length &&
      spec.serviceAccountTokenInSecrets === undefined
        ? [TOKENS_IN_ATTRIBUTES]
        : [],
    validateUpdate(driver, old, errors) {
      validateImmutable(driver.spec.attachRequired, old.spec.attachRequired, 'spec.attachedRequired', errors)
      validateImmutable(
        driver.spec.volumeLifecycleModes,
        old.spec.volumeLifecycleModes,
        'spec.volumeLifecycleModes',
        errors,
      )
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'disk.example.com' }, spec: {} },
})

const NO_TOKENS = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'
const TOKENS_IN_ATTRIBUTES =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes'
const TEN_MINUTES = 600

function validateTokenRequests(
  requests: { audience: string; expirationSeconds?: number }[],
  errors: FieldErrors,
): void {
  const audiences = new Set<string>()
  for (const [index, { audience, expirationSeconds: seconds = TEN_MINUTES }] of requests.entries()) {
    const at = `spec.tokenRequests[${index}]`
    if (audiences.has(audience)) {
      errors.push(duplicate(`${at}.audience`, audience))
      continue
    }
    audiences.add(audience)
    const refuse = (detail: string) => errors.push(invalid(`${at}.expirationSeconds`, seconds, detail))
    if (seconds < TEN_MINUTES) refuse('may not specify a duration less than 10 minutes')
    if (seconds > 2 ** 32) refuse('may not specify a duration larger than 2^32 seconds')
  }
}

const MAX_NODE_ID = 256

const csinode = plain<WithMeta<V1CSINode>>({
  group,
  kind: 'CSINode',
  plural: 'csinodes',
  columns: [nameColumn, column('Drivers', 'How many drivers it has.', { type: 'integer' }), ageColumn],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec.drivers?.length ?? 0,
    age(metadata.creationTimestamp, nowMs),
  ],
  strategy: {
    returnsDeletedObject: true,
    validate({ spec }, errors) {
      const names = new Set<string>()
      for (const [index, { name, nodeID, allocatable, topologyKeys }] of (spec.drivers ?? []).entries()) {
        const at = `spec.drivers[${index}]`
        validateDriverName(name, `${at}.name`, errors)
        if (!nodeID) errors.push(required(`${at}.nodeID`))
        if (nodeID.length > MAX_NODE_ID)
          errors.push(invalid(`${at}.nodeID`, nodeID, `must be ${MAX_NODE_ID} characters or less`))
        validateNotNegative(allocatable?.count, `${at}.allocatable.count`, errors)
        if (names.has(name)) errors.push(duplicate(`${at}.name`, name))
        names.add(name)
        validateTopologyKeys(topologyKeys ?? [], at, errors)
      }
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'node-1' }, spec: { drivers: [{ name: 'disk.example.com', nodeID: 'node-1' }] } },
})

function validateTopologyKeys(keys: string[], field: string, errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const key of keys) {
    if (!key) errors.push(required(field))
    if (seen.has(key)) errors.push(duplicate(field, key))
    seen.add(key)
    reject(errors, field, key, qualifiedName(key))
  }
}

const csistoragecapacity = plain<WithMeta<V1CSIStorageCapacity>>({
  group,
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  namespaced: true,
  strategy: {
    warnings: ({ nodeTopology = {} }) => [
      ...nodeTermWarnings(nodeTopology, 'nodeTopology'),
      ...nodeLabelWarnings(Object.keys(nodeTopology.matchLabels ?? {}), (key) => `nodeTopology.matchLabels.${key}`),
    ],
    validate: validateCapacity,
    validateUpdate(object, old, errors) {
      validateCapacity(object, errors)
      validateImmutable(object.nodeTopology, old.nodeTopology, 'nodeTopology', errors)
      validateImmutable(object.storageClassName, old.storageClassName, 'storageClassName', errors)
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'disks', namespace: 'default' }, storageClassName: 'disks', capacity: '10Gi' },
})

function validateCapacity(object: WithMeta<V1CSIStorageCapacity>, errors: FieldErrors): void {
  const { nodeTopology, storageClassName, capacity } = object
  validateLabelSelector(nodeTopology as LabelSelector | undefined, 'nodeTopology', errors)
  reject(errors, 'storageClassName', storageClassName, dns1123Subdomain(storageClassName))
  if (capacity !== undefined && isNegativeQuantity(capacity)) errors.push(invalid('capacity', capacity, NOT_NEGATIVE))
}

const VOLUME_NAME = 'spec.source.persistentVolumeName'
const ONE_SOURCE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
const volumeattachment = plain<WithMeta<V1VolumeAttachment>>({
  group,
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  columns: [
    nameColumn,
    column('Attacher', 'Driver that attaches it.', { format: 'name' }),
    column('PV', 'The volume.'),
    column('Node', 'The node.'),
    column('Attached', 'Whether it is attached.', { type: 'boolean' }),
    ageColumn,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec.attacher,
    spec.source.persistentVolumeName ?? '',
    spec.nodeName,
    status?.attached ?? false,
    age(metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  statusKeepsMetadata: true,
  strategy: {
    returnsDeletedObject: true,
    validate: validateAttachment,
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return
      validateAttachment(object, errors)
      validateImmutable(object.spec, old.spec, 'spec', errors, 'io.k8s.api.storage.v1.VolumeAttachmentSpec')
    },
    allowUnconditionalUpdate: false,
  },
  example: {
    metadata: { name: 'disk-1-node-1' },
    spec: { attacher: 'disk.example.com', nodeName: 'node-1', source: { persistentVolumeName: 'disk-1' } },
  },
})

const PROTECTED = 'kubernetes.io/vac-protection'
const volumeattributesclass = plain<WithMeta<V1VolumeAttributesClass>>({
  group,
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  shortNames: ['vac'],
  columns: [nameColumn, column('DriverName', 'Driver that knows the attributes.'), ageColumn],
  cells: ({ metadata, driverName }, nowMs) => [metadata.name, driverName, age(metadata.creationTimestamp, nowMs)],
  strategy: {
    returnsDeletedObject: true,
    prepareForCreate({ metadata }) {
      const finalizers = metadata.finalizers ?? []
      if (!finalizers.includes(PROTECTED)) metadata.finalizers = [...finalizers, PROTECTED]
    },
    validate: validateAttributes,
    validateUpdate(object, old, errors) {
      if (object.driverName !== old.driverName)
        errors.push(forbidden('driverName', 'updates to driverName are forbidden.'))
      if (!deepEqual(object.parameters, old.parameters))
        errors.push(forbidden('parameters', 'updates to parameters are forbidden.'))
      validateAttributes(object, errors)
    },
  },
  example: { metadata: { name: 'fast' }, driverName: 'disk.example.com', parameters: { iops: '1000' } },
})

export const storage: ResourceDefinition[] = [
  csidriver,
  csinode,
  csistoragecapacity,
  volumeattachment,
  volumeattributesclass,
]

const MAX_PARAMETERS = 512

function validateAttributes({ driverName, parameters }: WithMeta<V1VolumeAttributesClass>, errors: FieldErrors): void {
  if (!driverName) errors.push(required('driverName'))
  else reject(errors, 'driverName', driverName.toLowerCase(), qualifiedName(driverName.toLowerCase()))
  const count = Object.keys(parameters ?? {}).length
  if (count > MAX_PARAMETERS) return void errors.push(tooLong('parameters', MAX_PARAMETERS))
  if (parameters && '' in parameters) errors.push(invalid('parameters', '', 'field can not be empty.'))
  if (count === 0) errors.push(required('parameters', 'must contain at least one key/value pair'))
}

function validateAttachment({ spec }: WithMeta<V1VolumeAttachment>, errors: FieldErrors): void {
  validateDriverName(spec.attacher, 'spec.attacher', errors)
  const { persistentVolumeName: volume, inlineVolumeSpec } = spec.source
  if (volume === undefined && !inlineVolumeSpec) errors.push(required('spec.source', ONE_SOURCE))
  if (volume !== undefined && inlineVolumeSpec) errors.push(forbidden('spec.source', ONE_SOURCE))
  else if (volume === '') errors.push(required(VOLUME_NAME, 'must specify non empty persistentVolumeName'))
  else if (inlineVolumeSpec) validateInlineSpec(inlineVolumeSpec, 'spec.source.inlineVolumeSpec', errors)
  reject(errors, 'spec.nodeName', spec.nodeName, dns1123Subdomain(spec.nodeName))
  if (volume !== undefined) reject(errors, VOLUME_NAME, volume, dns1123Subdomain(volume))
}
