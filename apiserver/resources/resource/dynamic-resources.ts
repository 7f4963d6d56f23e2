/** Devices that pods may ask for: stored and served; no component allocates them here. */
import type { V1DeviceClass, V1ResourceClaimTemplate, V1ResourceSlice } from '@kubernetes/client-node'
import type { KubeObject, ObjectMeta, WithMeta } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import type { ResourceDefinition, StrategyContext } from '../../kind/resource-definition.ts'
import { invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { declaredName } from '../../validation/names.ts'
import { validateTemplateMeta } from '../../validation/object-meta.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { validateAdminAccess } from '../parts/devices/admin-access.ts'
import {
  type DeviceClaim,
  type DeviceClassSpec,
  validateDeviceClaim,
  validateDeviceClass,
} from '../parts/devices/validate-claim.ts'
import { type ClaimStatus, validateClaimStatus } from '../parts/devices/validate-claim-status.ts'
import { type SliceSpec, validateSlice } from '../parts/devices/validate-slice.ts'
import { plain } from '../parts/plain.ts'
import { validateImmutable } from '../parts/workload.ts'

const group = 'resource.k8s.io'
const nameAndAge = {
  columns: [nameColumn, ageColumn],
  cells: ({ metadata }: Pick<KubeObject, 'metadata'>, nowMs: number) => [
    metadata.name,
    age(metadata.creationTimestamp, nowMs),
  ],
}

/** Asks for one device, unless another number is given. */
function defaultRequests(devices: DeviceClaim | undefined): void {
  for (const { exactly, firstAvailable = [] } of devices?.requests ?? []) {
    for (const request of [...(exactly ? [exactly] : []), ...firstAvailable]) {
      request.allocationMode ||= 'ExactCount'
      for (const toleration of request.tolerations ?? []) toleration.operator ||= 'Equal'
      if (request.allocationMode === 'ExactCount') request.count ||= 1
    }
  }
}

/** A taint has the time at which it is written, unless its driver names another. */
function defaultTaints({ devices = [] }: SliceSpec, nowMs: number): void {
  for (const { taints = [] } of devices) for (const taint of taints) taint.timeAdded ||= toTime(nowMs)
}

interface ResourceClaim extends KubeObject {
  spec: { devices?: DeviceClaim }
  status?: ClaimStatus
}
type ResourceClaimTemplate = Omit<WithMeta<V1ResourceClaimTemplate>, 'spec'> & {
  spec: { metadata?: object; spec: { devices?: DeviceClaim } }
}
type DeviceClass = Omit<WithMeta<V1DeviceClass>, 'spec'> & { spec: DeviceClassSpec }
type ResourceSlice = Omit<WithMeta<V1ResourceSlice>, 'spec'> & { spec: SliceSpec }

const deviceclass = plain<DeviceClass>({
  group,
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  ...nameAndAge,
  countsGenerations: true,
  strategy: {
    validateName: declaredName,
    returnsDeletedObject: true,
    validate: ({ spec }, errors) => validateDeviceClass(spec, errors),
  },
  example: {
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
  },
})

function stateText({ metadata, status }: ResourceClaim): string {
  const states = [
    ...(metadata.deletionTimestamp ? ['deleted'] : []),
    ...(status?.allocation ? ['allocated', ...(status.reservedFor?.length ? ['reserved'] : [])] : ['pending']),
  ]
  return states.join(',')
}

const resourceclaim = plain<ResourceClaim>({
  group,
  kind: 'ResourceClaim',
  plural: 'resourceclaims',
  namespaced: true,
  columns: [nameColumn, column('State', 'Whether it is allocated, and in use.'), ageColumn],
  cells: (claim, nowMs) => [claim.metadata.name, stateText(claim), age(claim.metadata.creationTimestamp, nowMs)],
  hasStatus: true,
  statusKeepsMetadata: true,
  strategy: {
    applyDefaults: ({ spec }) => defaultRequests(spec.devices),
    returnsDeletedObject: true,
    validate({ spec }, errors, context) {
      validateRequestedAccess(spec, errors, context)
      validateDeviceClaim(spec.devices ?? {}, 'spec.devices', errors)
    },
    validateUpdate(claim, old, errors, context) {
      if (context.subresource === 'status') {
        const [results, before] = [claim, old].map(({ status }) => status?.allocation?.devices?.results)
        if (!before?.some(({ adminAccess }) => adminAccess))
          validateAdminAccess(results, 'status.allocation.devices.results', errors, context)
        validateClaimStatus(claim, old, errors)
      } else validateImmutable(claim.spec, old.spec, 'spec', errors, 'io.k8s.api.resource.v1.ResourceClaimSpec')
    },
  },
  example: {
    metadata: { name: 'gpu' },
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
  },
})

const validateRequestedAccess = (
  spec: { devices?: DeviceClaim },
  errors: FieldErrors,
  context: StrategyContext,
): void =>
  validateAdminAccess(
    spec.devices?.requests?.map(({ exactly }) => exactly),
    'spec.devices.requests',
    errors,
    context,
  )

function validateTemplate({ spec }: ResourceClaimTemplate, errors: FieldErrors): void {
  validateTemplateMeta(spec.metadata as Partial<ObjectMeta>, 'spec.metadata', errors)
  validateDeviceClaim(spec.spec.devices ?? {}, 'spec.spec.devices', errors)
}

const resourceclaimtemplate = plain<ResourceClaimTemplate>({
  group,
  kind: 'ResourceClaimTemplate',
  plural: 'resourceclaimtemplates',
  namespaced: true,
  ...nameAndAge,
  strategy: {
    applyDefaults: ({ spec }) => defaultRequests(spec.spec.devices),
    returnsDeletedObject: true,
    validate(template, errors, context) {
      validateRequestedAccess(template.spec.spec, errors, context)
      validateTemplate(template, errors)
    },
    validateUpdate(template, old, errors) {
      validateTemplate(template, errors)
      if (deepEqual(template.spec, old.spec)) return
      const { metadata, spec } = template.spec
      const shown = { ...metadata, Spec: dump('io.k8s.api.resource.v1.ResourceClaimSpec', spec) }
      errors.push(invalid('spec', shown, 'field is immutable'))
    },
  },
  example: {
    metadata: { name: 'gpu' },
    spec: { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } } },
  },
})

const resourceslice = plain<ResourceSlice>({
  group,
  kind: 'ResourceSlice',
  plural: 'resourceslices',
  columns: [
    nameColumn,
    column('Node', 'Where the devices are.'),
    column('Driver', 'Who hands them out.'),
    column('Pool', 'Pool that they belong to.'),
    ageColumn,
  ],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec.nodeName ?? '',
    spec.driver,
    spec.pool.name ?? '',
    age(metadata.creationTimestamp, nowMs),
  ],
  unsupportedField: (field) => `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.driver': ({ spec }) => spec.driver,
  },
  strategy: {
    applyDefaults: ({ spec }, { nowMs }) => defaultTaints(spec, nowMs),
    returnsDeletedObject: true,
    generation: { changed: ({ spec }, old) => !deepEqual(spec, old.spec) },
    validate: ({ spec }, errors) => validateSlice(spec, undefined, errors),
    validateUpdate: ({ spec }, old, errors) => validateSlice(spec, old.spec, errors),
    warnings: ({ spec: { driver } }) =>
      driver === driver.toLowerCase()
        ? []
        : [`spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`],
  },
  example: {
    metadata: { name: 'gpus' },
    spec: {
      driver: 'gpu.example.com',
      allNodes: true,
      pool: { name: 'gpus', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0' }],
    },
  },
})

export const dynamicResources: ResourceDefinition[] = [deviceclass, resourceclaim, resourceclaimtemplate, resourceslice]
