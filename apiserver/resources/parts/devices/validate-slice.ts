/** Rules of slices: the devices that a driver has. */
import { forbidden, invalid, required, tooLong } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { dns1123Label, dns1123Subdomain, labelValueMessages } from '../../../validation/names.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { validateDriverName } from '../driver-name.ts'
import { reject, validateRequiredChoice } from '../messages.ts'
import { validateNodeSelector } from '../node-selector.ts'
import { validateImmutable } from '../workload.ts'
import {
  type Binding,
  validateAttributeName,
  validateBinding,
  validateItems,
  validateKeyName,
  validateLabelName,
  validatePoolName,
} from './checks.ts'
import { type RequestPolicy, validateRequestPolicy } from './request-policy.ts'
import { deviceEffects } from './validate-claim.ts'

type NodeSelector = Parameters<typeof validateNodeSelector>[0]
interface Attribute {
  bool?: boolean
  int?: number | bigint
  string?: string
  version?: string
}
interface Capacity {
  value: string
  requestPolicy?: RequestPolicy
}
interface Taint {
  key?: string
  value?: string
  effect?: string
  timeAdded?: string
}
interface Counters {
  [name: string]: { value: string }
}
export interface Device extends Binding {
  name: string
  attributes?: { [name: string]: Attribute }
  capacity?: { [name: string]: Capacity }
  allowMultipleAllocations?: boolean
  taints?: Taint[]
  consumesCounters?: { counterSet?: string; counters?: Counters }[]
  nodeName?: string
  nodeSelector?: NodeSelector
  allNodes?: boolean
}
export interface SliceSpec {
  driver: string
  pool: { name?: string; generation?: number; resourceSliceCount?: number }
  nodeName?: string
  nodeSelector?: NodeSelector
  allNodes?: boolean
  perDeviceNodeSelection?: boolean
  devices?: Device[]
  sharedCounters?: { name?: string; counters?: Counters }[]
}

const max = {
  devices: 128,
  advancedDevices: 64,
  counterSets: 8,
  counters: 32,
  consumed: 2,
  taints: 16,
  values: 32,
  text: 64,
}

export function validateSlice(spec: SliceSpec, old: SliceSpec | undefined, errors: FieldErrors): void {
  validateDriverName(spec.driver, 'spec.driver', errors)
  validatePool(spec.pool, errors)
  if (old) {
    validateImmutable(spec.pool.name, old.pool.name, 'spec.pool.name', errors)
    validateImmutable(spec.driver, old.driver, 'spec.driver', errors)
    validateImmutable(spec.nodeName, old.nodeName, 'spec.nodeName', errors)
  }
  validateNodes(spec, errors)
  if (spec.sharedCounters && spec.devices)
    errors.push(invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed'))
  const isAdvanced = spec.devices?.some(({ taints, consumesCounters }) => taints?.length || consumesCounters?.length)
  validateItems(spec.devices, 'spec.devices', errors, {
    max: isAdvanced ? max.advancedDevices : max.devices,
    check(device, at) {
      const before = old?.devices?.find(({ name }) => name === device.name)
      validateDevice(device, at, { before, perDevice: spec.perDeviceNodeSelection === true, errors })
    },
    key: ({ name }) => name,
  })
  validateItems(spec.sharedCounters, 'spec.sharedCounters', errors, {
    max: max.counterSets,
    check({ name, counters }, at) {
      if (!name) errors.push(required(`${at}.name`))
      else validateLabelName(name, `${at}.name`, errors)
      validateCounters(counters, `${at}.counters`, errors)
    },
    key: ({ name }) => name ?? '',
  })
}

function validatePool({ name, generation = 0, resourceSliceCount = 0 }: SliceSpec['pool'], errors: FieldErrors): void {
  validatePoolName(name, 'spec.pool.name', errors)
  if (resourceSliceCount <= 0)
    errors.push(invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero'))
  if (generation < 0) errors.push(invalid('spec.pool.generation', generation, 'must be greater than or equal to zero'))
}

const unsetOrTrue = 'must be either unset or set to true'

function validateNodes(spec: SliceSpec, errors: FieldErrors): void {
  const set: string[] = []
  const { nodeName, nodeSelector } = spec
  if (nodeName) {
    set.push('`nodeName`')
    reject(errors, 'spec.nodeName', nodeName, dns1123Subdomain(nodeName))
  } else if (nodeName === '')
    errors.push(invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string'))
  if (nodeSelector) {
    set.push('`nodeSelector`')
    validateNodeSelector(nodeSelector, 'spec.nodeSelector', errors)
    const terms = nodeSelector.nodeSelectorTerms
    const field = 'spec.nodeSelector.nodeSelectorTerms'
    if (terms?.length !== 1)
      errors.push(
        invalid(
          field,
          terms?.map((term) => dump('io.k8s.api.core.v1.NodeSelectorTerm', term)),
          'must have exactly one node selector term',
        ),
      )
  }
  for (const field of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[field]) set.push(`\`${field}\``)
    else if (spec[field] === false) errors.push(invalid(`spec.${field}`, false, unsetOrTrue))
  }
  const oneOf = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  if (set.length === 0) errors.push(required('spec', oneOf))
  else if (set.length > 1) errors.push(invalid('spec', `{${set.join(', ')}}`, `${oneOf}, but multiple fields are set`))
}

interface DeviceContext {
  before: Device | undefined
  perDevice: boolean
  errors: FieldErrors
}

function validateDevice(device: Device, path: string, { before, perDevice, errors }: DeviceContext): void {
  validateLabelName(device.name, `${path}.name`, errors)
  const attributes = Object.entries(device.attributes ?? {})
  const capacities = Object.entries(device.capacity ?? {})
  const count = attributes.length + capacities.length
  if (count > max.values)
    errors.push(invalid(path, count, `the total number of attributes and capacities must not exceed ${max.values}`))
  for (const [name, attribute] of attributes) {
    validateAttributeName(name, `${path}.attributes`, errors)
    validateAttribute(attribute, `${path}.attributes[${shortened(name)}]`, errors)
  }
  for (const [name, { value, requestPolicy }] of capacities) {
    validateAttributeName(name, `${path}.capacity`, errors)
    if (!requestPolicy) continue
    const field = `${path}.capacity[${shortened(name)}].requestPolicy`
    if (device.allowMultipleAllocations) validateRequestPolicy(requestPolicy, value, field, errors)
    else errors.push(forbidden(field, 'allowMultipleAllocations must be true'))
  }
  if (!before || !deepEqual(before.taints ?? [], device.taints ?? [])) {
    validateItems(device.taints, `${path}.taints`, errors, {
      max: max.taints,
      check: (taint, at) => validateTaint(taint, at, errors),
    })
  }
  validateItems(device.consumesCounters, `${path}.consumesCounters`, errors, {
    max: max.consumed,
    check({ counterSet, counters }, at) {
      if (!counterSet) errors.push(required(`${at}.counterSet`))
      else reject(errors, `${at}.counterSet`, counterSet, dns1123Label(counterSet))
      validateCounters(counters, `${at}.counters`, errors)
    },
    key: ({ counterSet }) => counterSet ?? '',
  })
  if (perDevice) validateDeviceNodes(device, path, errors)
  else if (device.nodeName !== undefined || device.nodeSelector || device.allNodes !== undefined) {
    const fields = '`nodeName`, `nodeSelector` and `allNodes`'
    const when = 'if `perDeviceNodeSelection` is set to true in the ResourceSlice spec'
    errors.push(invalid(path, null, `${fields} can only be set ${when}`))
  }
  validateBinding(device, path, errors)
}

function validateDeviceNodes({ nodeName, nodeSelector, allNodes }: Device, path: string, errors: FieldErrors): void {
  const set: string[] = []
  if (nodeName) {
    set.push('`nodeName`')
    reject(errors, `${path}.nodeName`, nodeName, dns1123Subdomain(nodeName))
  } else if (nodeName === '') errors.push(invalid(`${path}.nodeName`, nodeName, 'must not be empty'))
  if (nodeSelector) {
    set.push('`nodeSelector`')
    validateNodeSelector(nodeSelector, `${path}.nodeSelector`, errors)
  }
  if (allNodes) set.push('`allNodes`')
  else if (allNodes === false) errors.push(invalid(`${path}.allNodes`, false, unsetOrTrue))
  const when = 'is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec'
  const oneOf = `exactly one of \`nodeName\`, \`nodeSelector\`, or \`allNodes\` ${when}`
  if (set.length === 0) errors.push(required(path, oneOf))
  else if (set.length > 1) errors.push(invalid(path, `{${set.join(', ')}}`, oneOf))
}

const numeric = String.raw`(0|[1-9]\d*)`
const prerelease = String.raw`(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
const semver = new RegExp(
  String.raw`^${numeric}\.${numeric}\.${numeric}(-${prerelease}(\.${prerelease})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`,
)

function validateAttribute(attribute: Attribute, path: string, errors: FieldErrors): void {
  const { bool, int, string, version } = attribute
  if (string !== undefined && Buffer.byteLength(string) > max.text) errors.push(tooLong(`${path}.string`, max.text))
  if (version !== undefined && !semver.test(version))
    errors.push(invalid(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0'))
  if (version !== undefined && Buffer.byteLength(version) > max.text) errors.push(tooLong(`${path}.version`, max.text))
  const set = [bool, int, string, version].filter((value) => value !== undefined).length
  if (set === 1) return
  errors.push(invalid(path, set === 0 ? '' : shownAttribute(attribute), 'exactly one value must be specified'))
}

/** Returns the attribute as Go prints its own struct. */
const shownAttribute = ({ int, bool, string, version }: Attribute): object => ({
  IntValue: int ?? null,
  BoolValue: bool ?? null,
  StringValue: string ?? null,
  VersionValue: version ?? null,
  IntValues: null,
  BoolValues: null,
  StringValues: null,
  VersionValues: null,
})

function validateCounters(counters: Counters | undefined, path: string, errors: FieldErrors): void {
  const names = Object.keys(counters ?? {})
  if (names.length === 0) errors.push(required(path))
  else if (names.length > max.counters) {
    const detail = `must have at most ${max.counters} items`
    errors.push({ type: 'FieldValueTooMany', field: path, value: names.length, detail })
  } else for (const name of names) validateLabelName(name, path, errors)
}

function validateTaint({ key, value, effect }: Taint, path: string, errors: FieldErrors): void {
  validateKeyName(key, `${path}.key`, errors)
  if (value) reject(errors, `${path}.value`, value, labelValueMessages(value))
  validateRequiredChoice(effect, deviceEffects, `${path}.effect`, errors)
}

const maxKeyBytes = 63 + 1 + 32
/** A key as paths have it: a longer one without its middle. */
function shortened(name: string): string {
  if (name.length <= maxKeyBytes) return name
  const remaining = maxKeyBytes - '...'.length
  return `${name.slice(0, Math.floor((remaining + 1) / 2))}...${name.slice(name.length - Math.floor(remaining / 2))}`
}
