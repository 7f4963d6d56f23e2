/** Where a pod may run: affinity, topology spread. */
import type { PodSpec } from '../../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { validateLabelSelector } from '../../../validation/label-selector.ts'
import { dns1123Label, qualifiedName } from '../../../validation/names.ts'
import { reject, validateChoice } from '../messages.ts'
import { validateNodeSelector, validateNodeTerm } from '../node-selector.ts'

type Affinity = NonNullable<PodSpec['affinity']>
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>
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
  if (affinity[REQUIRED]) validateNodeSelector(affinity[REQUIRED], `${path}.${REQUIRED}`, errors)
  for (const [index, { weight, preference }] of (affinity[PREFERRED] ?? []).entries()) {
    const at = `${path}.${PREFERRED}[${index}]`
    validateWeight(weight, `${at}.weight`, errors)
    validateNodeTerm(preference, false, `${at}.preference`, errors)
  }
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: string, errors: FieldErrors): void {
  validateLabelSelector(term.labelSelector, `${path}.labelSelector`, errors)
  validateLabelSelector(term.namespaceSelector, `${path}.namespaceSelector`, errors)
  for (const name of term.namespaces ?? []) reject(errors, `${path}.namespace`, name, dns1123Label(name))
  validateLabelKeys(term, path, errors)
  if (!term.topologyKey) errors.push(required(`${path}.topologyKey`, 'can not be empty'))
  reject(errors, `${path}.topologyKey`, term.topologyKey, qualifiedName(term.topologyKey))
}

type LabelKeys = Pick<PodAffinityTerm, 'matchLabelKeys' | 'mismatchLabelKeys' | 'labelSelector'>

/** Upstream: ValidateMatchLabelKeysAndMismatchLabelKeys. */
function validateLabelKeys(term: LabelKeys, path: string, errors: FieldErrors): void {
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
  // The selector of a pod has the keys by now, once; a key that it had before stands there twice.
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}))
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const place = matchLabelKeys.lastIndexOf(key)
    if (place >= 0 && selected.has(key))
      errors.push(invalid(`${path}[${place}]`, key, 'exists in both matchLabelKeys and labelSelector'))
    selected.add(key)
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

type Spread = NonNullable<PodSpec['topologySpreadConstraints']>[number]

export function validateTopologySpread(constraints: readonly Spread[], path: string, errors: FieldErrors): void {
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`
    const { maxSkew, topologyKey, whenUnsatisfiable: action, minDomains, matchLabelKeys, labelSelector } = constraint
    if (maxSkew <= 0) errors.push(invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero'))
    if (!topologyKey) errors.push(required(`${at}.topologyKey`, 'can not be empty'))
    validateChoice(action, whenUnsatisfiable, `${at}.whenUnsatisfiable`, errors)
    const pair = pairOf(constraint)
    if (constraints.slice(index + 1).some((other) => pairOf(other) === pair))
      errors.push({
        type: 'FieldValueDuplicate',
        field: `${at}.{topologyKey, whenUnsatisfiable}`,
        value: pair,
        detail: '',
      })
    validateMinDomains(minDomains, action, `${at}.minDomains`, errors)
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[name]
      if (policy !== undefined && !policies.includes(policy))
        errors.push(notSupported(`${at}.${name}`, policy, policies))
    }
    validateLabelKeys({ matchLabelKeys, labelSelector }, at, errors)
    validateLabelSelector(labelSelector, `${at}.labelSelector`, errors)
  }
}

const pairOf = ({ topologyKey, whenUnsatisfiable: action }: Spread): string => `{${topologyKey}, ${action}}`

function validateMinDomains(minDomains: number | undefined, action: string, field: string, errors: FieldErrors): void {
  if (minDomains === undefined) return
  if (minDomains <= 0) errors.push(invalid(field, minDomains, 'must be greater than zero'))
  if (action !== 'DoNotSchedule') {
    errors.push(invalid(field, minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`))
  }
}
