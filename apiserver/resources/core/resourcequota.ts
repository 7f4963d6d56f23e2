import type { V1ResourceQuotaSpec, V1ResourceQuotaStatus } from '@kubernetes/client-node'
import { compareQuantities, isNegativeQuantity, roundUpAmounts } from '../../../shared/api/quantities/quantity.ts'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { qualifiedName } from '../../validation/names.ts'
import { counted, standardResources } from '../parts/counted-resources.ts'
import { NOT_NEGATIVE, reject } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'

type Spec = Wire<V1ResourceQuotaSpec>
interface ResourceQuota {
  metadata: ObjectMeta
  spec?: Spec
  status?: Wire<V1ResourceQuotaStatus>
}

export const resourcequota = plain<ResourceQuota>({
  group: '',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
  shortNames: ['quota'],
  columns: [
    nameColumn,
    column('Request', 'What is asked for, of what may be.'),
    column('Limit', 'What is limited to, of what may be.'),
    ageColumn,
  ],
  cells: (quota, nowMs) => [
    quota.metadata.name,
    usageText(quota, (name) => !isLimit(name)),
    usageText(quota, isLimit),
    age(quota.metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  strategy: {
    applyDefaults({ spec, status }) {
      for (const amounts of [spec?.hard, status?.hard, status?.used]) roundUpAmounts(amounts)
    },
    validate: ({ spec }, errors) => validate(spec, errors),
    validateUpdate({ spec }, old, errors, { subresource }) {
      if (subresource === 'status') return
      validate(spec, errors)
      if (new Set(spec?.scopes).symmetricDifference(new Set(old.spec?.scopes)).size > 0)
        errors.push(invalid('spec.scopes', spec?.scopes ?? null, 'field is immutable'))
    },
    warnings: ({ spec }, old) => (old ? [] : warnings(spec?.hard ?? {})),
    returnsDeletedObject: true,
  },
  example: { metadata: { name: 'team' }, spec: { hard: { pods: '10' } } },
})

const isLimit = (name: string): boolean => name.startsWith('limits.')
const usageText = ({ status }: ResourceQuota, takes: (name: string) => boolean): string =>
  Object.keys(status?.hard ?? {})
    .filter(takes)
    .sort()
    .map((name) => `${name}: ${status?.used?.[name] ?? '0'}/${status?.hard?.[name]}`)
    .join(', ')

/** Amounts that a quota may speak of by name. */
const known = new Set([...counted, ...standardResources])
const isStandardQuota = (name: string): boolean =>
  (name !== 'storage' && known.has(name)) || name.startsWith('requests.hugepages-') || name.startsWith('hugepages-')

const compute = new Set(['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'])
/** Maps each scope to the amounts that may be counted for its objects alone. */
const scopes: Record<string, (name: string) => boolean> = {
  Terminating: (name) => name === 'pods' || compute.has(name),
  NotTerminating: (name) => name === 'pods' || compute.has(name),
  NotBestEffort: (name) => name === 'pods' || compute.has(name),
  BestEffort: (name) => name === 'pods',
  PriorityClass: (name) => name === 'pods' || compute.has(name),
  CrossNamespacePodAffinity: (name) => name === 'pods' || compute.has(name),
  VolumeAttributesClass: (name) => name === 'persistentvolumeclaims' || name === 'requests.storage',
}
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
]

function validate(spec: Spec | undefined, errors: FieldErrors): void {
  const hard = spec?.hard ?? {}
  const names = Object.keys(hard).sort()
  for (const name of names) {
    const at = `spec.hard[${name}]`
    const messages = qualifiedName(name)
    reject(errors, at, name, messages)
    if (messages.length === 0 && !name.includes('/') && !isStandardQuota(name)) {
      if (!known.has(name)) errors.push(invalid(at, name, 'must be a standard resource type or fully qualified'))
      errors.push(invalid(at, name, 'must be a standard resource for quota'))
    }
    const quantity = hard[name] ?? '0'
    if (isNegativeQuantity(quantity)) errors.push(invalid(at, quantity, NOT_NEGATIVE))
    if ((counted.has(name) || name.startsWith('count/')) && !/^-?\d+[kMGTPE]?i?$/.test(quantity))
      errors.push(invalid(at, quantity, 'must be an integer'))
  }
  const given = spec?.scopes ?? []
  for (const scope of given) {
    const covers = Object.hasOwn(scopes, scope) ? scopes[scope] : undefined
    if (!covers) errors.push(invalid('spec.scopes', given, 'unsupported scope'))
    else
      for (const name of names)
        if (isStandardQuota(name) && !covers(name))
          errors.push(invalid('spec.scopes', given, 'unsupported scope applied to resource'))
  }
  for (const pair of opposites)
    if (pair.every((scope) => given.includes(scope))) errors.push(invalid('spec.scopes', given, 'conflicting scopes'))
  if (spec?.scopeSelector) validateScopeSelector(spec, errors)
}

const ONLY_EXISTS =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
const valued = new Set(['PriorityClass', 'VolumeAttributesClass'])

/** Upstream: validateScopedResourceSelectorRequirement. */
function validateScopeSelector({ hard = {}, scopeSelector, scopes: given = [] }: Spec, errors: FieldErrors): void {
  const at = 'spec.scopeSelector.matchExpressions'
  const requirements = scopeSelector?.matchExpressions ?? []
  for (const { scopeName, operator, values = [] } of requirements) {
    const covers = Object.hasOwn(scopes, scopeName) ? scopes[scopeName] : undefined
    if (!covers) errors.push(invalid(`${at}.scopeName`, scopeName, 'unsupported scope'))
    for (const name of Object.keys(hard).sort())
      if (covers && isStandardQuota(name) && !covers(name))
        errors.push(invalid(at, scopeSelector, 'unsupported scope applied to resource'))
    if (covers && !valued.has(scopeName) && operator !== 'Exists')
      errors.push(invalid(`${at}.operator`, operator, ONLY_EXISTS))
    if (operator === 'In' || operator === 'NotIn') {
      const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
      if (values.length === 0) errors.push(required(`${at}.values`, detail))
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
      if (values.length > 0) errors.push(invalid(`${at}.values`, values, detail))
    } else errors.push(invalid(`${at}.operator`, operator, 'not a valid selector operator'))
  }
  for (const pair of opposites)
    if (pair.every((scope) => requirements.some(({ scopeName }) => scopeName === scope)))
      errors.push(invalid(at, given, 'conflicting scopes'))
}

/** Warns if more may be requested than limits allow. */
function warnings(hard: Readonly<Record<string, string>>): string[] {
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((resource) => {
    const long = `requests.${resource}`
    const mayBeShort = resource === 'cpu' || resource === 'memory'
    const name = hard[long] === undefined && mayBeShort && hard[resource] !== undefined ? resource : long
    const [request, limit] = [hard[name], hard[`limits.${resource}`]]
    if (request === undefined || limit === undefined || compareQuantities(request, limit) <= 0) return []
    return [`ResourceQuota ${name} (${request}) should be less than limits.${resource} (${limit})`]
  })
}
