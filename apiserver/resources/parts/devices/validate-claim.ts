/** Rules of claims for devices, their templates, and classes of devices. */
import { invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Subdomain, labelValueMessages, qualifiedName } from '../../../validation/names.ts'
import { validateDriverName } from '../driver-name.ts'
import { reject } from '../messages.ts'
import {
  type Check,
  validateItems,
  validateLabelName,
  validateOpaqueData,
  validateQualifiedAttribute,
} from './checks.ts'
import { type DeviceSelector, validateSelector } from './device-selector.ts'

interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
}
export interface ExactRequest {
  deviceClassName?: string
  selectors?: DeviceSelector[]
  allocationMode?: string
  count?: number
  adminAccess?: boolean
  tolerations?: Toleration[]
}
type SubRequest = ExactRequest & { name: string }
export interface DeviceRequest {
  name: string
  exactly?: ExactRequest
  firstAvailable?: SubRequest[]
}
interface Constraint {
  requests?: string[]
  matchAttribute?: string
  distinctAttribute?: string
}
interface DeviceConfig {
  requests?: string[]
  opaque?: { driver?: string; parameters?: unknown }
}
export interface DeviceClaim {
  requests?: DeviceRequest[]
  constraints?: Constraint[]
  config?: DeviceConfig[]
}
export interface DeviceClassSpec {
  selectors?: DeviceSelector[]
  config?: DeviceConfig[]
  extendedResourceName?: string
}

const max = { requests: 32, constraints: 32, config: 32, selectors: 32, subRequests: 8 }

export function validateDeviceClaim(claim: DeviceClaim, path: string, errors: FieldErrors): void {
  const names = requestNames(claim)
  validateItems(claim.requests, `${path}.requests`, errors, {
    max: max.requests,
    check: (request, at) => validateRequest(request, at, errors),
    key: ({ name }) => name,
  })
  validateItems(claim.constraints, `${path}.constraints`, errors, {
    max: max.constraints,
    check: (constraint, at) => validateConstraint(constraint, at, { names, errors }),
  })
  validateItems(claim.config, `${path}.config`, errors, {
    max: max.config,
    check(config, at) {
      validateReferences(config.requests, `${at}.requests`, { names, errors })
      validateConfig(config, at, errors)
    },
  })
}

/** Requests by their names, each with the names of its subrequests. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>

export const requestNames = ({ requests }: DeviceClaim): RequestNames =>
  new Map(requests?.map(({ name, firstAvailable }) => [name, new Set(firstAvailable?.map(({ name }) => name))]))

/** Returns whether a claim has the request, or the subrequest after a slash, that a constraint or a result mentions. */
function hasRequest(names: RequestNames, reference: string): boolean {
  const [name = '', subrequest, ...others] = reference.split('/')
  const found = others.length === 0 ? names.get(name) : undefined
  return found !== undefined && (subrequest === undefined || found.has(subrequest))
}

interface Context {
  names: RequestNames
  errors: FieldErrors
}

const noRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

export function validateReference(name: string, path: string, { names, errors }: Context): void {
  const segments = name.split('/')
  if (segments.length <= 2) for (const segment of segments) validateLabelName(segment, path, errors)
  if (!hasRequest(names, name)) errors.push(invalid(path, name, noRequest))
}

export function validateReferences(list: string[] | undefined, path: string, context: Context): void {
  validateItems(list, path, context.errors, {
    max: max.requests,
    check: (name, at) => validateReference(name, at, context),
    key: (name) => name,
  })
}

const oneOf = 'exactly one of `exactly` or `firstAvailable` is required'

function validateRequest({ name, exactly, firstAvailable }: DeviceRequest, path: string, errors: FieldErrors): void {
  validateLabelName(name, `${path}.name`, errors)
  const isList = (firstAvailable?.length ?? 0) > 0
  if (!isList && !exactly) errors.push(required(path, oneOf))
  else if (isList && exactly) errors.push(invalid(path, null, `${oneOf}, but multiple fields are set`))
  else if (exactly) validateExactRequest(exactly, `${path}.exactly`, errors)
  else {
    validateItems(firstAvailable, `${path}.firstAvailable`, errors, {
      max: max.subRequests,
      check(request, at) {
        validateLabelName(request.name, `${at}.name`, errors)
        validateExactRequest(request, at, errors)
      },
      key: ({ name }) => name,
    })
  }
}

function validateExactRequest(request: ExactRequest, path: string, errors: FieldErrors): void {
  const { deviceClassName, selectors, allocationMode = '', count = 0, tolerations } = request
  if (!deviceClassName) errors.push(required(`${path}.deviceClassName`))
  else reject(errors, `${path}.deviceClassName`, deviceClassName, dns1123Subdomain(deviceClassName))
  validateSelectors(selectors, `${path}.selectors`, errors)
  if (allocationMode === 'All') {
    const detail = "must not be specified when allocationMode is 'All'"
    if (count !== 0) errors.push(invalid(`${path}.count`, count, detail))
  } else if (allocationMode === 'ExactCount') {
    if (count <= 0) errors.push(invalid(`${path}.count`, count, 'must be greater than zero'))
  } else errors.push(notSupported(`${path}.allocationMode`, allocationMode, ['All', 'ExactCount']))
  const check: Check<Toleration> = (toleration, at) => validateToleration(toleration, at, errors)
  validateItems(tolerations, `${path}.tolerations`, errors, { check })
}

export const deviceEffects: readonly string[] = ['NoExecute', 'NoSchedule', 'None']

function validateToleration({ key, operator, value, effect }: Toleration, path: string, errors: FieldErrors): void {
  if (key) reject(errors, `${path}.key`, key, qualifiedName(key))
  if (operator === 'Exists') {
    if (value) errors.push(invalid(`${path}.value`, value, 'must be empty for operator `Exists`'))
  } else if (operator === 'Equal') reject(errors, `${path}.value`, value ?? '', labelValueMessages(value ?? ''))
  else if (!operator) errors.push(required(`${path}.operator`))
  else errors.push(notSupported(`${path}.operator`, operator, ['Equal', 'Exists']))
  if (effect && !deviceEffects.includes(effect)) errors.push(notSupported(`${path}.effect`, effect, deviceEffects))
}

function validateSelectors(selectors: DeviceSelector[] | undefined, path: string, errors: FieldErrors): void {
  const check: Check<DeviceSelector> = (selector, at) => validateSelector(selector, at, errors)
  validateItems(selectors, path, errors, { max: max.selectors, check })
}

function validateConstraint(constraint: Constraint, path: string, context: Context): void {
  const { errors } = context
  const { matchAttribute, distinctAttribute } = constraint
  validateReferences(constraint.requests, `${path}.requests`, context)
  if (matchAttribute !== undefined) validateQualifiedAttribute(matchAttribute, `${path}.matchAttribute`, errors)
  else if (distinctAttribute !== undefined)
    validateQualifiedAttribute(distinctAttribute, `${path}.distinctAttribute`, errors)
  else {
    const detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    errors.push(required(path, detail))
  }
}

export function validateConfig({ opaque }: DeviceConfig, path: string, errors: FieldErrors): void {
  if (!opaque) {
    errors.push(required(`${path}.opaque`))
    return
  }
  validateDriverName(opaque.driver, `${path}.opaque.driver`, errors)
  validateOpaqueData(opaque.parameters, `${path}.opaque.parameters`, errors)
}

export function validateDeviceClass(spec: DeviceClassSpec, errors: FieldErrors): void {
  validateSelectors(spec.selectors, 'spec.selectors', errors)
  const check: Check<DeviceConfig> = (config, at) => validateConfig(config, at, errors)
  validateItems(spec.config, 'spec.config', errors, { max: max.config, check })
  const { extendedResourceName: name } = spec
  if (name !== undefined && !isExtendedResource(name))
    errors.push(invalid('spec.extendedResourceName', name, 'must be a valid extended resource name'))
}

/** Returns whether a name is that of an extended resource. Upstream: IsExtendedResourceName. */
function isExtendedResource(name: string): boolean {
  const isNative = !name.includes('/') || name.includes('kubernetes.io/')
  if (isNative || name.startsWith('requests.')) return false
  return qualifiedName(`requests.${name}`).length === 0
}
