/** Where a pod may run: affinity, topology spread. */
import type { PodSpec } from '../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { validateLabelSelector } from '../../validation/label-selector.ts'
import { dns1123Label, dns1123Subdomain, labelValueMessages, qualifiedName } from '../../validation/names.ts'
import { reject } from '../parts/messages.ts'

type Affinity = NonNullable<PodSpec['affinity']>
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>
type NodeTerm = NonNullable<NodeAffinity['preferredDuringSchedulingIgnoredDuringExecution']>[number]['preference']
type Requirement = NonNullable<NodeTerm['matchExpressions']>[number]
type PodAffinityTerm = NonNullable<
  NonNullable<Affinity['podAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
>[number]

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

export function validateAffinity(affinity: Affinity | undefined, path: string, errors: FieldErrors): void {
  if (affinity?.nodeAffinity) validateNodeAffinity(affinity.nodeAffinity, `${path}.nodeAffinity`, errors)
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    const rules = affinity?.[name]
    for (const [index, term] of (rules?.[REQUIRED] ?? []).entries()) {
      validatePodAffinityTerm(term, `${path}.${name}.${REQUIRED}[${index}]`, errors)
    }
    for (const [index, { weight, podAffinityTerm }] of (rules?.[PREFERRED] ?? []).entries()) {
      const at = `${path}.${name}.${PREFERRED}[${index}]`
      validateWeight(weight, `${at}.weight`, errors)
      validatePodAffinityTerm(podAffinityTerm, `${at}.podAffinityTerm`, errors)
    }
  }
}

const validateWeight = (weight: number, field: string, errors: FieldErrors): void => {
  if (!(weight >= 1 && weight <= 100)) errors.push(invalid(field, weight, 'must be in the range 1-100'))
}

function validateNodeAffinity(affinity: NodeAffinity, path: string, errors: FieldErrors): void {
  const terms = affinity[REQUIRED]?.nodeSelectorTerms
  if (affinity[REQUIRED]) {
    const field = `${path}.${REQUIRED}.nodeSelectorTerms`
    if (!terms?.length) errors.push(required(field, 'must have at least one node selector term'))
    for (const [index, term] of (terms ?? []).entries()) validateNodeTerm(term, true, `${field}[${index}]`, errors)
  }
  for (const [index, { weight, preference }] of (affinity[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${index}]`
    validateWeight(weight, `${at}.weight`, errors)
    validateNodeTerm(preference, false, `${at}.preference`, errors)
  }
}

function validateNodeTerm(term: NodeTerm, checkValues: boolean, path: string, errors: FieldErrors): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    validateNodeRequirement(requirement, checkValues, `${path}.matchExpressions[${index}]`, errors)
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateNodeField(requirement, `${path}.matchFields[${index}]`, errors)
  }
}

const NOT_AN_OPERATOR = 'not a valid selector operator'

function validateNodeRequirement(
  { key, operator, values = [] }: Requirement,
  checkValues: boolean,
  path: string,
  errors: FieldErrors,
): void {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
      }
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        errors.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
      }
      break
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) {
        errors.push(required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
      }
      break
    default:
      errors.push(invalid(`${path}.operator`, operator, NOT_AN_OPERATOR))
  }
  reject(errors, `${path}.key`, key, qualifiedName(key))
  if (!checkValues) return
  for (const [index, value] of values.entries())
    reject(errors, `${path}.values[${index}]`, value, labelValueMessages(value))
}

function validateNodeField({ key, operator, values = [] }: Requirement, path: string, errors: FieldErrors): void {
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalid(`${path}.operator`, operator, NOT_AN_OPERATOR))
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    errors.push(required(`${path}.values`, detail))
  }
  if (key !== 'metadata.name') {
    errors.push(invalid(`${path}.key`, key, 'not a valid field selector key'))
    return
  }
  for (const [index, value] of values.entries())
    reject(errors, `${path}.values[${index}]`, value, dns1123Subdomain(value))
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: string, errors: FieldErrors): void {
  validateLabelSelector(term.labelSelector, `${path}.labelSelector`, errors)
  validateLabelSelector(term.namespaceSelector, `${path}.namespaceSelector`, errors)
  for (const name of term.namespaces ?? []) reject(errors, `${path}.namespace`, name, dns1123Label(name))
  validateLabelKeys(term, path, errors)
  if (!term.topologyKey) errors.push(required(`${path}.topologyKey`, 'can not be empty'))
  reject(errors, `${path}.topologyKey`, term.topologyKey, qualifiedName(term.topologyKey))
}

function validateLabelKeys(term: PodAffinityTerm, path: string, errors: FieldErrors): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term
  for (const [list, keys] of [
    ['matchLabelKeys', matchLabelKeys],
    ['mismatchLabelKeys', mismatchLabelKeys],
  ] as const) {
    if (keys.length > 0 && !labelSelector) {
      errors.push(forbidden(`${path}.${list}`, 'must not be specified when labelSelector is not set'))
      continue
    }
    for (const [index, key] of keys.entries()) reject(errors, `${path}.${list}[${index}]`, key, qualifiedName(key))
  }
  const mismatched = new Set(mismatchLabelKeys)
  for (const [index, key] of matchLabelKeys.entries()) {
    if (mismatched.has(key)) {
      errors.push(
        invalid(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys'),
      )
    }
  }
}

const whenUnsatisfiable = ['DoNotSchedule', 'ScheduleAnyway']
const policies = ['Honor', 'Ignore']

export function validateTopologySpread(
  constraints: NonNullable<PodSpec['topologySpreadConstraints']>,
  path: string,
  errors: FieldErrors,
): void {
  const seen = new Set<string>()
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`
    const {
      maxSkew,
      topologyKey,
      whenUnsatisfiable: action,
      minDomains,
      matchLabelKeys = [],
      labelSelector,
    } = constraint
    if (maxSkew <= 0) errors.push(invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero'))
    if (!topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'))
    else reject(errors, `${at}.topologyKey`, topologyKey, qualifiedName(topologyKey))
    if (!whenUnsatisfiable.includes(action))
      errors.push(notSupported(`${at}.whenUnsatisfiable`, action, whenUnsatisfiable))
    const pair = `{${topologyKey}, ${action}}`
    if (seen.has(pair))
      errors.push({
        type: 'FieldValueDuplicate',
        field: `${at}.{topologyKey, whenUnsatisfiable}`,
        value: pair,
        detail: '',
      })
    seen.add(pair)
    validateMinDomains(minDomains, action, `${at}.minDomains`, errors)
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[name]
      if (policy !== undefined && !policies.includes(policy))
        errors.push(notSupported(`${at}.${name}`, policy, policies))
    }
    const expressed = new Set(labelSelector?.matchExpressions?.map(({ key }) => key))
    for (const [keyIndex, key] of matchLabelKeys.entries()) {
      const field = `${at}.matchLabelKeys[${keyIndex}]`
      reject(errors, field, key, qualifiedName(key))
      if (labelSelector?.matchLabels?.[key] !== undefined || expressed.has(key)) {
        errors.push(invalid(field, key, 'exists in both matchLabelKeys and labelSelector'))
      }
    }
    if (matchLabelKeys.length > 0 && !labelSelector) {
      errors.push(forbidden(`${at}.matchLabelKeys`, 'must not be specified when labelSelector is not set'))
    }
    validateLabelSelector(labelSelector, `${at}.labelSelector`, errors)
  }
}

function validateMinDomains(minDomains: number | undefined, action: string, field: string, errors: FieldErrors): void {
  if (minDomains === undefined) return
  if (minDomains <= 0) errors.push(invalid(field, minDomains, 'must be greater than zero'))
  if (action !== 'DoNotSchedule') {
    errors.push(invalid(field, minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`))
  }
}
