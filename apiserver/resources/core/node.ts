import { isNegativeQuantity, roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { Node } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn, orNone, wide } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import { duplicate, forbidden, invalid } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { cidrProblems, cidrWarnings, isCidr } from '../../validation/ip.ts'
import { labelValueMessages, qualifiedName } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { reject, validateRequiredChoice } from '../parts/messages.ts'

export const node = resource<Node>({
  group: '',
  kind: 'Node',
  plural: 'nodes',
  shortNames: ['no'],
  columns: [
    nameColumn,
    column('Status', 'Whether the node takes pods.'),
    column('Roles', 'Roles from the labels of the node.'),
    ageColumn,
    column('Version', 'Version of the kubelet.'),
    column('Internal-IP', 'Addresses inside the cluster.', wide),
    column('External-IP', 'Addresses outside the cluster.', wide),
    column('OS-Image', 'Operating system.', wide),
    column('Kernel-Version', 'Version of the kernel.', wide),
    column('Container-Runtime', 'Name and version of the container runtime.', wide),
  ],
  cells,
  selectableFields: { 'spec.unschedulable': ({ spec }) => String(spec?.unschedulable ?? false) },
  subresources: { status: true },
  extraSubresources: [
    { name: 'proxy', kind: 'NodeProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
  ],
  strategy: {
    applyDefaults({ spec, status }) {
      if (spec) alignNetworks(spec)
      roundUpAmounts(status?.capacity)
      roundUpAmounts(status?.allocatable)
      if (status?.capacity && !status.allocatable) status.allocatable = { ...status.capacity }
    },
    prepareForCreate({ spec }) {
      if (spec) spec.configSource = undefined
    },
    warnings: ({ spec }, _old, { subresource }) => (subresource || !spec ? [] : warnings(spec)),
    prepareForUpdate(object, old) {
      // The configuration of a kubelet through its Node is gone from Kubernetes, but not its fields.
      if (object.spec && !old.spec?.configSource) object.spec.configSource = undefined
      if (object.status && !old.status?.config) object.status.config = undefined
    },
    validate,
    validateUpdate,
  },
  example: { metadata: { name: 'node-a' } },
})

const ROLE_PREFIX = 'node-role.kubernetes.io/'

function cells({ metadata, spec, status }: Node, nowMs: number): unknown[] {
  const info = status?.nodeInfo
  const orUnknown = (text: string | undefined) => text || '<unknown>'
  const kernel = orUnknown(info?.kernelVersion)
  const address = (type: string) => orNone(status?.addresses?.find((entry) => entry.type === type)?.address)
  return [
    metadata.name,
    readiness(status?.conditions ?? []) + (spec?.unschedulable ? ',SchedulingDisabled' : ''),
    roles(metadata.labels ?? {}),
    age(metadata.creationTimestamp, nowMs),
    info?.kubeletVersion ?? '',
    address('InternalIP'),
    address('ExternalIP'),
    orUnknown(info?.osImage),
    info?.architecture ? `${kernel} (${info.architecture})` : kernel,
    orUnknown(info?.containerRuntimeVersion),
  ]
}

function readiness(conditions: { type: string; status: string }[]): string {
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (!ready) return 'Unknown'
  return ready.status === 'True' ? 'Ready' : 'NotReady'
}

function roles(labels: Record<string, string>): string {
  const found = new Set<string>()
  for (const [key, value] of Object.entries(labels)) {
    const role = key.startsWith(ROLE_PREFIX) ? key.slice(ROLE_PREFIX.length) : key === 'kubernetes.io/role' ? value : ''
    if (role) found.add(role)
  }
  return orNone([...found].sort().join(','))
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

function validate({ spec, status }: Node, errors: FieldErrors): void {
  validateTaints(spec?.taints ?? [], 'metadata.taints', errors)
  for (const list of ['capacity', 'allocatable'] as const) {
    for (const [name, quantity] of Object.entries(status?.[list] ?? {})) {
      if (isNegativeQuantity(quantity)) {
        errors.push(invalid(`status.${list}.${name}`, quantity, 'must be greater than or equal to 0'))
      }
    }
  }
  const cidrs = spec?.podCIDRs ?? []
  for (const [index, cidr] of cidrs.entries()) reject(errors, `spec.podCIDRs[${index}]`, cidr, cidrProblems(cidr))
  const families = new Set(cidrs.map((cidr) => cidr.includes(':')))
  if (cidrs.length > 1 && cidrs.every(isCidr) && (families.size < 2 || cidrs.length > 2))
    errors.push(invalid('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'))
}

function validateTaints(
  taints: NonNullable<NonNullable<Node['spec']>['taints']>,
  path: string,
  errors: FieldErrors,
): void {
  const seen = new Set<string>()
  for (const [index, taint] of taints.entries()) {
    const at = `${path}[${index}]`
    for (const message of qualifiedName(taint.key)) errors.push(invalid(`${at}.key`, taint.key, message))
    for (const message of labelValueMessages(taint.value ?? ''))
      errors.push(invalid(`${at}.value`, taint.value, message))
    validateRequiredChoice(taint.effect, taintEffects, `${at}.effect`, errors)
    const pair = `${taint.key}/${taint.effect}`
    if (seen.has(pair)) {
      const dump = {
        Key: taint.key,
        Value: taint.value ?? '',
        Effect: taint.effect,
        TimeAdded: taint.timeAdded ?? null,
      }
      errors.push({ ...duplicate(at, dump), detail: 'taints must be unique by key and effect pair' })
    }
    seen.add(pair)
  }
}

function validateUpdate(node: Node, old: Node, errors: FieldErrors): void {
  validate(node, errors)
  const mayOnlyBeSet = (field: string, shown: string) =>
    errors.push(forbidden(`spec.${field}`, `node updates may not change ${shown} except from "" to valid`))
  validateAddresses(node.status?.addresses ?? [], errors)
  const had = old.spec?.podCIDRs ?? []
  if (had.length > 0 && !deepEqual(node.spec?.podCIDRs, had)) mayOnlyBeSet('podCIDRs', 'podCIDR')
  if (old.spec?.providerID && node.spec?.providerID !== old.spec.providerID) mayOnlyBeSet('providerID', 'providerID')
  // Upstream looks at them twice.
  validateTaints(node.spec?.taints ?? [], 'metadata.taints', errors)
  if ((node.spec?.externalID ?? '') !== (old.spec?.externalID ?? ''))
    errors.push(forbidden('spec.externalID', 'may not be updated'))
}

function validateAddresses(addresses: readonly { type: string; address: string }[], errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [index, { type, address }] of addresses.entries()) {
    const key = JSON.stringify([type, address])
    if (seen.has(key)) errors.push(duplicate(`status.addresses[${index}]`, { Type: type, Address: address }))
    seen.add(key)
  }
}

/** Makes `podCIDR`, of older clients, the first of `podCIDRs`, as upstream's conversion does. */
function alignNetworks(spec: NonNullable<Node['spec']>): void {
  if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR]
  if (spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0]
}

const warnings = ({ configSource, externalID, podCIDRs = [] }: NonNullable<Node['spec']>): string[] => [
  ...(configSource ? ['spec.configSource: the feature is removed'] : []),
  ...(externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
  ...podCIDRs.flatMap((cidr, index) => cidrWarnings(cidr, `spec.podCIDRs[${index}]`)),
]
