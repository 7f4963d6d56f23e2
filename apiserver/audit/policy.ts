import { matchesUrl } from '../auth/rbac/policy-rule.ts'
import type { Attributes } from '../auth/types.ts'
import { errorBody, invalid, notSupported, required } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import { dns1123Subdomain } from '../validation/names.ts'

export const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type Level = (typeof levels)[number]
export const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type Stage = (typeof stages)[number]

/** A policy of audit.k8s.io/v1: the first rule that fits a request says what is recorded of it. */
export interface Policy {
  rules: readonly PolicyRule[]
  omitStages: readonly Stage[]
  omitManagedFields: boolean
}

export interface PolicyRule {
  level: Level
  users?: readonly string[]
  userGroups?: readonly string[]
  verbs?: readonly string[]
  namespaces?: readonly string[]
  resources?: readonly { group?: string; resources?: readonly string[]; resourceNames?: readonly string[] }[]
  nonResourceURLs?: readonly string[]
  omitStages?: readonly Stage[]
  omitManagedFields?: boolean
}

/** Says what is recorded of a request. */
export type Verdict = Required<Pick<PolicyRule, 'level' | 'omitStages' | 'omitManagedFields'>>

/** Returns the rules of a policy, each with what the policy says for all of them. */
export const wholeRules = ({ rules, omitStages, omitManagedFields }: Policy): (PolicyRule & Verdict)[] =>
  rules.map((rule) => ({
    ...rule,
    omitStages: [...omitStages, ...(rule.omitStages ?? [])],
    omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
  }))

/** Returns the rule that decides about a request. Upstream: apiserver/pkg/audit/policy/checker.go. */
export const ruleFor = <T extends PolicyRule>(rules: readonly T[], attributes: Attributes): T | undefined =>
  rules.find((rule) => matches(rule, attributes))

const isIn = (list: readonly string[] | undefined, value: string): boolean =>
  list === undefined || list.length === 0 || list.includes(value)

function matches(rule: PolicyRule, attributes: Attributes): boolean {
  const { user, verb, path, resource } = attributes
  const { users, userGroups = [], verbs, namespaces = [], resources = [], nonResourceURLs = [] } = rule
  if (!isIn(users, user.name) || !isIn(verbs, verb)) return false
  if (userGroups.length > 0 && !user.groups.some((group) => userGroups.includes(group))) return false
  if (namespaces.length > 0 || resources.length > 0) return matchesResource(rule, resource)
  if (nonResourceURLs.length === 0) return true
  return !resource && nonResourceURLs.some((pattern) => matchesUrl(pattern, path))
}

function matchesResource({ namespaces, resources = [] }: PolicyRule, asked: Attributes['resource']): boolean {
  if (!asked || !isIn(namespaces, asked.namespace ?? '')) return false
  if (resources.length === 0) return true
  const { resource, subresource = '', name = '' } = asked
  const whole = subresource ? `${resource}/${subresource}` : resource
  return resources.some(({ group = '', resources: names = [], resourceNames }) => {
    if (group !== asked.group && group !== '*') return false
    if (names.length === 0) return true
    if (!isIn(resourceNames, name)) return false
    return names.some(
      (one) => one === whole || one === '*' || one === `${resource}/*` || (subresource && one === `*/${subresource}`),
    )
  })
}

type Json = Record<string, unknown>

/** Returns why a document is no policy, as texts with the paths of fields. Upstream: apis/audit/validation. */
export function policyMistakes(document: unknown): string[] {
  const { apiVersion, kind, rules, omitStages } = (document ?? {}) as Json
  if (apiVersion !== 'audit.k8s.io/v1' || kind !== 'Policy')
    return [`it must be a Policy of audit.k8s.io/v1, not ${String(kind)} of ${String(apiVersion)}`]
  if (!Array.isArray(rules) || rules.length === 0) return ['rules: it has no rules']
  const errors: FieldErrors = []
  checkStages(omitStages, 'omitStages', errors)
  for (const [index, rule] of rules.entries()) checkRule((rule ?? {}) as Json, `rules[${index}]`, errors)
  return errors.map((error) => `${error.field}: ${errorBody(error)}`)
}

function checkStages(value: unknown, path: string, errors: FieldErrors): void {
  if (value === undefined) return
  for (const [index, stage] of [value].flat().entries())
    if (!stages.includes(stage as Stage)) errors.push(notSupported(`${path}[${index}]`, stage as string, [...stages]))
}

function checkRule(rule: Json, path: string, errors: FieldErrors): void {
  const { level, nonResourceURLs, resources, namespaces, omitStages } = rule
  if (level === undefined) errors.push(required(`${path}.level`))
  else if (!levels.includes(level as Level)) errors.push(notSupported(`${path}.level`, String(level), [...levels]))
  checkStages(omitStages, `${path}.omitStages`, errors)
  const urls = [nonResourceURLs ?? []].flat().map(String)
  for (const [index, url] of urls.entries()) {
    const at = `${path}.nonResourceURLs[${index}]`
    if (url === '*') continue
    if (!url.startsWith('/')) errors.push(invalid(at, url, "non-resource URL rules must begin with a '/' character"))
    if (url.slice(0, -1).includes('*'))
      errors.push(invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule"))
  }
  const both = 'rules cannot apply to both regular resources and non-resource URLs'
  const listed = [resources ?? []].flat() as Json[]
  if (urls.length > 0 && (listed.length > 0 || [namespaces ?? []].flat().length > 0))
    errors.push(invalid(`${path}.nonResourceURLs`, urls, both))
  for (const { group = '', resources: names, resourceNames } of listed) {
    const text = String(group)
    for (const message of text && text !== '*' ? dns1123Subdomain(text) : [])
      errors.push(invalid(`${path}.resources.group`, text, message))
    if (resourceNames && !names)
      errors.push(
        invalid(`${path}.resources.resourceNames`, resourceNames, 'using resourceNames requires at least one resource'),
      )
  }
}
