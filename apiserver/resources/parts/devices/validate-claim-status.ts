/** Rules of the status of a claim: the devices it has, and the pods that use them. */

import { forbidden, invalid, required, tooLong, tooMany } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { interfaceAddressProblems } from '../../../validation/ip.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { type Condition, validateConditions } from '../conditions.ts'
import { validateDriverName } from '../driver-name.ts'
import { reject, validateRequiredChoice } from '../messages.ts'
import { validateNodeSelector } from '../node-selector.ts'
import { validateImmutable } from '../workload.ts'
import {
  type Binding,
  validateBinding,
  validateItems,
  validateLabelName,
  validateOpaqueData,
  validatePoolName,
} from './checks.ts'
import {
  type DeviceClaim,
  type RequestNames,
  requestNames,
  validateConfig,
  validateReference,
  validateReferences,
} from './validate-claim.ts'

interface Result extends Binding {
  adminAccess?: boolean
  request: string
  driver: string
  pool: string
  device: string
  shareID?: string
}
interface AllocationConfig {
  source?: string
  requests?: string[]
  opaque?: { driver?: string; parameters?: unknown }
}
interface Allocation {
  devices?: { results?: Result[]; config?: AllocationConfig[] }
  nodeSelector?: Parameters<typeof validateNodeSelector>[0]
}
interface DeviceStatus {
  driver: string
  pool: string
  device: string
  shareID?: string
  conditions?: Condition[]
  data?: unknown
  networkData?: { interfaceName?: string; hardwareAddress?: string; ips?: string[] }
}
interface Consumer {
  resource?: string
  name?: string
  uid?: string
}
export interface ClaimStatus {
  allocation?: Allocation
  reservedFor?: Consumer[]
  devices?: DeviceStatus[]
}

interface Claim {
  metadata: { deletionTimestamp?: string }
  spec: { devices?: DeviceClaim }
  status?: ClaimStatus
}

const max = { reservedFor: 256, results: 32, config: 64, conditions: 8, addresses: 16 }

export function validateClaimStatus({ metadata, spec, status = {} }: Claim, old: Claim, errors: FieldErrors): void {
  validateItems(status.reservedFor, 'status.reservedFor', errors, {
    max: max.reservedFor,
    check: (consumer, at) => validateConsumer(consumer, at, errors),
    key: ({ uid }) => uid ?? '',
  })
  const allocated = new Set(status.allocation?.devices?.results?.map(idOf))
  validateItems(status.devices, 'status.devices', errors, {
    check: (device, at) => validateDevice(device, at, { allocated, errors }),
    key: (device) => idOf(device),
  })
  if (status.reservedFor?.length) {
    const field = 'status.reservedFor'
    if (!status.allocation) errors.push(forbidden(field, 'may not be specified when `allocated` is not set'))
    else if (metadata.deletionTimestamp && hasNewConsumers(status, old.status)) {
      const detail = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set'
      errors.push(forbidden(field, detail))
    }
  }
  const { allocation } = status
  if (allocation && old.status?.allocation) {
    const schema = 'io.k8s.api.resource.v1.AllocationResult'
    validateImmutable(allocation, old.status.allocation, 'status.allocation', errors, schema)
  } else if (allocation) validateAllocation(allocation, { names: requestNames(spec.devices ?? {}), errors })
}

const hasNewConsumers = (status: ClaimStatus, old: ClaimStatus | undefined): boolean =>
  (status.reservedFor ?? []).some((consumer) => !old?.reservedFor?.some((known) => deepEqual(known, consumer)))

function validateConsumer(consumer: Consumer, path: string, errors: FieldErrors): void {
  for (const field of ['resource', 'name', 'uid'] as const)
    if (!consumer[field]) errors.push(required(`${path}.${field}`))
}

function validateAllocation(
  { devices, nodeSelector }: Allocation,
  context: { names: RequestNames; errors: FieldErrors },
): void {
  const { errors } = context
  const path = 'status.allocation'
  validateItems(devices?.results, `${path}.devices.results`, errors, {
    max: max.results,
    check(result, at) {
      validateReference(result.request ?? '', `${at}.request`, context)
      validateIdentity(result, at, errors)
      validateBinding(result, at, errors)
      validateShare(result.shareID, `${at}.shareID`, errors)
    },
  })
  validateItems(devices?.config, `${path}.devices.config`, errors, {
    max: max.config,
    check(config, at) {
      const { source } = config
      const sources = ['FromClaim', 'FromClass']
      validateRequiredChoice(source, sources, `${at}.source`, errors)
      validateReferences(config.requests, `${at}.requests`, context)
      validateConfig(config, at, errors)
    },
  })
  if (nodeSelector) validateNodeSelector(nodeSelector, `${path}.nodeSelector`, errors)
}

function validateIdentity({ driver, pool, device }: Result | DeviceStatus, path: string, errors: FieldErrors): void {
  validateDriverName(driver, `${path}.driver`, errors)
  validatePoolName(pool, `${path}.pool`, errors)
  validateLabelName(device, `${path}.device`, errors)
}

const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/
const notNormalized =
  'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters'

function validateShare(id: string | undefined, path: string, errors: FieldErrors): void {
  if (id === undefined || uuid.test(id)) return
  const isOther = uuid.test(id.toLowerCase())
  const problem = id.length === 36 ? 'invalid UUID format' : `invalid UUID length: ${id.length}`
  errors.push(invalid(path, id, isOther ? notNormalized : `error validating uid: ${problem}`))
}

/** Prints a device as messages do: its share, if any, comes last. */
const idOf = ({ driver, pool, device, shareID }: Result | DeviceStatus): string =>
  [driver, pool, device, ...(shareID === undefined ? [] : [shareID])].join('/')

const limits = { interfaceName: 256, hardwareAddress: 128 }

function validateDevice(
  device: DeviceStatus,
  path: string,
  { allocated, errors }: { allocated: ReadonlySet<string>; errors: FieldErrors },
): void {
  validateIdentity(device, path, errors)
  validateShare(device.shareID, `${path}.shareID`, errors)
  if (!allocated.has(idOf(device))) {
    const { driver, pool, device: name, shareID } = device
    const shown = { Driver: driver, Pool: pool, Device: name, ShareID: shareID ?? '' }
    errors.push(invalid(path, shown, 'must be an allocated device in the claim'))
  }
  const conditions = device.conditions ?? []
  if (conditions.length > max.conditions) errors.push(tooMany(`${path}.conditions`, conditions.length, max.conditions))
  validateConditions(conditions, `${path}.conditions`, errors)
  if (device.data !== undefined) validateOpaqueData(device.data, `${path}.data`, errors)
  for (const field of ['interfaceName', 'hardwareAddress'] as const) {
    const text = device.networkData?.[field] ?? ''
    if (Buffer.byteLength(text) > limits[field]) errors.push(tooLong(`${path}.networkData.${field}`, limits[field]))
  }
  validateItems(device.networkData?.ips, `${path}.networkData.ips`, errors, {
    max: max.addresses,
    check: (address, at) => reject(errors, at, address, interfaceAddressProblems(address)),
    key: (address) => address,
  })
}
