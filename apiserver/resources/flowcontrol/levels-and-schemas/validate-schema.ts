/** Validates a FlowSchema. Upstream: pkg/apis/flowcontrol/validation. */
import type { V1FlowSchemaSpec } from '@kubernetes/client-node'
import type { Wire } from '../../../../shared/api/types.ts'
import { forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Label, dns1123Subdomain } from '../../../validation/names.ts'
import { reject } from '../../parts/messages.ts'
import { validateMandatory } from './mandatory.ts'

type Spec = Wire<V1FlowSchemaSpec>
type Rule = NonNullable<Spec['rules']>[number]
type Subject = Rule['subjects'][number]
type ResourceRule = NonNullable<Rule['resourceRules']>[number]
type PathRule = NonNullable<Rule['nonResourceRules']>[number]

const MAX_PRECEDENCE = 10_000
const methods = ['ByNamespace', 'ByUser']
const subjectKinds = ['Group', 'ServiceAccount', 'User']
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

export function validateFlowSchema(name: string | undefined, spec: Spec | undefined, errors: FieldErrors): void {
  const { matchingPrecedence: precedence = 0, distinguisherMethod, priorityLevelConfiguration, rules } = spec ?? {}
  const at = 'spec.matchingPrecedence'
  if (precedence <= 0) errors.push(invalid(at, precedence, 'must be a positive value'))
  if (precedence > MAX_PRECEDENCE) errors.push(invalid(at, precedence, `must not be greater than ${MAX_PRECEDENCE}`))
  if (precedence === 1 && name !== 'exempt')
    errors.push(invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
  if (distinguisherMethod && !methods.includes(distinguisherMethod.type))
    errors.push(notSupported('spec.distinguisherMethod.type', { Type: distinguisherMethod.type }, methods))
  const level = priorityLevelConfiguration?.name
  const field = 'spec.priorityLevelConfiguration.name'
  if (level) reject(errors, field, level, dns1123Subdomain(level))
  else errors.push(required(field, 'must reference a priority level'))
  for (const [index, rule] of (rules ?? []).entries()) validateRule(rule, `spec.rules[${index}]`, errors)
  validateMandatory('FlowSchema', name, spec, errors)
}

function validateRule({ subjects, resourceRules, nonResourceRules }: Rule, at: string, errors: FieldErrors): void {
  for (const [index, subject] of (subjects ?? []).entries())
    validateSubject(subject, `${at}.subjects[${index}]`, errors)
  if (!subjects?.length) errors.push(required(`${at}.subjects`, 'subjects must contain at least one value'))
  if (!resourceRules?.length && !nonResourceRules?.length)
    errors.push(required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty'))
  for (const [index, rule] of (resourceRules ?? []).entries())
    validateResourceRule(rule, `${at}.resourceRules[${index}]`, errors)
  for (const [index, rule] of (nonResourceRules ?? []).entries())
    validatePathRule(rule, `${at}.nonResourceRules[${index}]`, errors)
}

const described = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const
function validateSubject(subject: Subject, at: string, errors: FieldErrors): void {
  const { kind } = subject
  if (!Object.hasOwn(described, kind)) {
    errors.push(notSupported(`${at}.kind`, kind, subjectKinds))
    return
  }
  const own = described[kind as keyof typeof described]
  const given = subject[own]
  if (!given) errors.push(required(`${at}.${own}`, `${own} is required when subject kind is '${kind}'`))
  else if (own === 'serviceAccount') validateAccount(subject.serviceAccount, `${at}.${own}`, errors)
  else if (!given.name) errors.push(required(`${at}.${own}.name`))
  for (const [other, field] of Object.entries(described))
    if (field !== own && subject[field])
      errors.push(forbidden(`${at}.${field}`, `${field} is forbidden when subject kind is not '${other}'`))
}

function validateAccount(account: Subject['serviceAccount'], at: string, errors: FieldErrors): void {
  const { name, namespace } = account ?? {}
  if (!name) errors.push(required(`${at}.name`))
  else if (name !== '*') reject(errors, `${at}.name`, name, dns1123Subdomain(name))
  if (namespace) reject(errors, `${at}.namespace`, namespace, dns1123Label(namespace))
  else errors.push(required(`${at}.namespace`, 'must specify namespace for service account'))
}

const hasAll = (values: readonly string[]) => values.includes('*')

function validateVerbs(given: readonly string[], at: string, errors: FieldErrors): void {
  if (given.length === 0) errors.push(required(at, 'verbs must contain at least one value'))
  else if (hasAll(given)) validateAlone(given, 'verbs', at, errors)
  else if (given.some((verb) => !verbs.includes(verb))) errors.push(notSupported(at, given, verbs))
}

function validateAlone(given: readonly string[], what: string, at: string, errors: FieldErrors): void {
  if (hasAll(given) && given.length > 1)
    errors.push(invalid(at, given, `if '*' is present, must not specify other ${what}`))
}

function validateResourceRule(rule: ResourceRule, at: string, errors: FieldErrors): void {
  validateVerbs(rule.verbs ?? [], `${at}.verbs`, errors)
  const lists = [
    ['apiGroups', rule.apiGroups ?? [], 'api group'],
    ['resources', rule.resources ?? [], 'resource'],
  ] as const
  for (const [field, given, what] of lists) {
    if (given.length === 0) errors.push(required(`${at}.${field}`, `resource rules must supply at least one ${what}`))
    else validateAlone(given, `${what}s`, `${at}.${field}`, errors)
  }
  const namespaces = rule.namespaces ?? []
  const field = `${at}.namespaces`
  if (namespaces.length === 0 && !rule.clusterScope) errors.push(required(field, NO_NAMESPACE))
  else if (hasAll(namespaces)) validateAlone(namespaces, 'namespaces', field, errors)
  else
    for (const [index, name] of namespaces.entries())
      for (const message of dns1123Label(name))
        errors.push(
          invalid(`${field}[${index}]`, name, `each member of this list must be '*' or a DNS-1123 label; ${message}`),
        )
}
const NO_NAMESPACE = 'resource rules that are not cluster scoped must supply at least one namespace'

function validatePathRule(rule: PathRule, at: string, errors: FieldErrors): void {
  validateVerbs(rule.verbs ?? [], `${at}.verbs`, errors)
  const paths = rule.nonResourceURLs ?? []
  const field = `${at}.nonResourceURLs`
  if (paths.length === 0) errors.push(required(field, 'nonResourceURLs must contain at least one value'))
  else if (hasAll(paths)) validateAlone(paths, 'non-resource URLs', field, errors)
  else
    for (const [index, path] of paths.entries()) {
      const problem = pathProblem(path)
      if (problem) errors.push(invalid(`${field}[${index}]`, path, problem))
    }
}

function pathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const stars = path.split('*').length - 1
  return stars > 1 || (stars === 1 && !path.endsWith('/*')) ? 'wildcard can only do suffix matching' : undefined
}
