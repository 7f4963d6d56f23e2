/** Validates which requests a webhook or a policy is about. Upstream: pkg/apis/admissionregistration/validation. */
import { invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'

/** A list that is required, and not there, is null. */
interface Rule {
  apiGroups?: string[] | null
  apiVersions?: string[] | null
  operations?: string[] | null
  resources?: string[] | null
  scope?: string
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']

export function validateRule(rule: Rule, path: string, errors: FieldErrors): void {
  const apiGroups = rule.apiGroups ?? []
  const apiVersions = rule.apiVersions ?? []
  const { scope } = rule
  validateList(rule.operations ?? [], { path: `${path}.operations`, what: 'operations' }, errors)
  for (const [index, operation] of (rule.operations ?? []).entries()) {
    if (!operations.includes(operation))
      errors.push(notSupported(`${path}.operations[${index}]`, operation, operations))
  }
  validateList(apiGroups, { path: `${path}.apiGroups`, what: 'API groups' }, errors)
  validateList(apiVersions, { path: `${path}.apiVersions`, what: 'API versions' }, errors)
  for (const [index, version] of apiVersions.entries()) {
    if (version === '') errors.push(required(`${path}.apiVersions[${index}]`))
  }
  validateResources(rule.resources ?? [], `${path}.resources`, errors)
  if (scope !== undefined && !scopes.includes(scope)) errors.push(notSupported(`${path}.scope`, scope, scopes))
}

function validateList(
  values: readonly string[],
  { path, what }: { path: string; what: string },
  errors: FieldErrors,
): void {
  if (values.length === 0) errors.push(required(path))
  if (values.length > 1 && values.includes('*'))
    errors.push(invalid(path, values, `if '*' is present, must not specify other ${what}`))
}

function validateResources(resources: readonly string[], path: string, errors: FieldErrors): void {
  if (resources.length === 0) errors.push(required(path))
  const allSubresources = new Set<string>()
  const allResources = new Set<string>()
  for (const [index, pattern] of resources.entries()) {
    const at = `${path}[${index}]`
    if (pattern === '') errors.push(required(at))
    const [resource = '', ...rest] = pattern.split('/')
    if (rest.length === 0) continue
    const subresource = rest.join('/')
    if (allSubresources.has(resource))
      errors.push(invalid(at, pattern, `if '${resource}/*' is present, must not specify ${pattern}`))
    if (allResources.has(subresource))
      errors.push(invalid(at, pattern, `if '*/${subresource}' is present, must not specify ${pattern}`))
    if (subresource === '*') allSubresources.add(resource)
    if (resource === '*') allResources.add(subresource)
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  // Upstream looks at the last resource without a subresource alone.
  if (resources.includes('*') && resources.findLast((pattern) => !pattern.includes('/')) !== '*')
    errors.push(invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
}
