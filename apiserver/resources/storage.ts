/** Drivers of volumes, and what they have attached where. */
import type {
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
} from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { duplicate, forbidden, notSupported, required } from '../validation/field-error.ts'
import { dns1123Subdomain } from '../validation/names.ts'
import { age, ageColumn, column, nameColumn } from './parts/cells.ts'
import { validateDriverName } from './parts/driver-name.ts'
import { reject } from './parts/messages.ts'
import { plain } from './parts/plain.ts'
import { validateImmutable } from './parts/workload.ts'

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
      const modes = ['Ephemeral', 'Persistent']
      for (const mode of spec.volumeLifecycleModes ?? [])
        if (!modes.includes(mode)) errors.push(notSupported('spec.volumeLifecycleModes', mode, modes))
      const policies = ['File', 'None', 'ReadWriteOnceWithFSType']
      if (spec.fsGroupPolicy !== undefined && !policies.includes(spec.fsGroupPolicy))
        errors.push(notSupported('spec.fsGroupPolicy', spec.fsGroupPolicy, policies))
    },
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
      for (const [index, { name, nodeID }] of (spec.drivers ?? []).entries()) {
        if (!nodeID) errors.push(required(`spec.drivers[${index}].nodeID`))
        if (!name) errors.push(required(`spec.drivers[${index}].name`))
        if (names.has(name)) errors.push(duplicate(`spec.drivers[${index}].name`, name))
        names.add(name)
      }
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'node-1' }, spec: { drivers: [{ name: 'disk.example.com', nodeID: 'node-1' }] } },
})

const csistoragecapacity = plain<WithMeta<V1CSIStorageCapacity>>({
  group,
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  namespaced: true,
  strategy: {
    validate({ storageClassName }, errors) {
      reject(errors, 'storageClassName', storageClassName, dns1123Subdomain(storageClassName))
    },
    validateUpdate(object, old, errors) {
      validateImmutable(object.nodeTopology, old.nodeTopology, 'nodeTopology', errors)
      validateImmutable(object.storageClassName, old.storageClassName, 'storageClassName', errors)
    },
    allowUnconditionalUpdate: false,
  },
  example: { metadata: { name: 'disks', namespace: 'default' }, storageClassName: 'disks', capacity: '10Gi' },
})

const ONE_SOURCE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
const volumeattachment = plain<WithMeta<V1VolumeAttachment>>({
  group,
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  columns: [
    nameColumn,
    column('Attacher', 'Driver that attaches it.'),
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
    validate({ spec }, errors) {
      validateDriverName(spec.attacher, 'spec.attacher', errors)
      if (!spec.nodeName) errors.push(required('spec.nodeName'))
      else reject(errors, 'spec.nodeName', spec.nodeName, dns1123Subdomain(spec.nodeName))
      const { persistentVolumeName: volume, inlineVolumeSpec } = spec.source
      if (volume === undefined && !inlineVolumeSpec) errors.push(required('spec.source', ONE_SOURCE))
      if (volume !== undefined && inlineVolumeSpec) errors.push(forbidden('spec.source', ONE_SOURCE))
      else if (volume === '')
        errors.push(required('spec.source.persistentVolumeName', 'must specify non empty persistentVolumeName'))
      else if (volume) reject(errors, 'spec.source.persistentVolumeName', volume, dns1123Subdomain(volume))
    },
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource !== 'status') validateImmutable(object.spec, old.spec, 'spec', errors)
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
    validate({ driverName, parameters }, errors) {
      if (!driverName) errors.push(required('driverName'))
      if (Object.keys(parameters ?? {}).length === 0)
        errors.push(required('parameters', 'must contain at least one key/value pair'))
    },
    validateUpdate(object, old, errors) {
      if (object.driverName !== old.driverName)
        errors.push(forbidden('driverName', 'updates to driverName are forbidden.'))
      validateImmutable(object.parameters, old.parameters, 'parameters', errors)
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
