/** Kinds of networking beside Ingress and NetworkPolicy. */
import type { V1IngressClass, V1IPAddress, V1ServiceCIDR } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { strictAddressProblems, strictCidrProblems } from '../../validation/ip.ts'
import { dns1123Subdomain, domainPrefixedPath, pathSegmentName } from '../../validation/names.ts'
import { reject } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'
import { validateImmutable } from '../parts/workload.ts'

const group = 'networking.k8s.io'
type IngressClass = WithMeta<V1IngressClass>

export const ingressclass = plain<IngressClass>({
  group,
  kind: 'IngressClass',
  plural: 'ingressclasses',
  columns: [
    nameColumn,
    column('Controller', 'Who serves ingresses of it.'),
    column('Parameters', 'Object with its settings.'),
    ageColumn,
  ],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec?.controller ?? '',
    parametersText(spec?.parameters),
    age(metadata.creationTimestamp, nowMs),
  ],
  countsGenerations: true,
  strategy: {
    applyDefaults({ spec }) {
      if (spec?.parameters) spec.parameters.scope ??= 'Cluster'
    },
    validate: validateIngressClass,
    validateUpdate(object, old, errors) {
      validateImmutable(object.spec?.controller ?? '', old.spec?.controller, 'spec.controller', errors)
      validateIngressClass(object, errors)
    },
  },
  example: { metadata: { name: 'nginx' }, spec: { controller: 'example.com/nginx' } },
})

type Parameters = NonNullable<NonNullable<IngressClass['spec']>['parameters']>
const parametersText = (parameters: Parameters | undefined): string => {
  if (!parameters) return '<none>'
  const { apiGroup, kind, name } = parameters
  return `${apiGroup ? `${kind}.${apiGroup}` : kind}/${name}`
}

const MAX_CONTROLLER = 250
const scopes = ['Cluster', 'Namespace']
function validateIngressClass({ spec }: IngressClass, errors: FieldErrors): void {
  const controller = spec?.controller ?? ''
  if (controller.length > MAX_CONTROLLER)
    errors.push({
      type: 'FieldValueTooLong',
      field: 'spec.controller',
      detail: `may not be more than ${MAX_CONTROLLER} bytes`,
    })
  if (!controller) errors.push(required('spec.controller'))
  else {
    for (const { value, message } of domainPrefixedPath(controller))
      errors.push(invalid('spec.controller', value, message))
  }
  const parameters = spec?.parameters
  if (!parameters) return
  const at = 'spec.parameters'
  const { apiGroup } = parameters
  if (apiGroup !== undefined) reject(errors, `${at}.apiGroup`, apiGroup, dns1123Subdomain(apiGroup))
  for (const field of ['kind', 'name'] as const) {
    const value = parameters[field]
    if (value) reject(errors, `${at}.${field}`, value, pathSegmentName(value))
    else errors.push(required(`${at}.${field}`))
  }
  const { scope, namespace } = parameters
  if (scope === undefined) errors.push(required(`${at}.scope`))
  else if (!scopes.includes(scope)) errors.push(notSupported(`${at}.scope`, scope, scopes))
  if (scope === 'Namespace' && !namespace)
    errors.push(required(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'"))
  if (scope === 'Cluster' && namespace !== undefined)
    errors.push(forbidden(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'"))
}

const ipaddress = plain<WithMeta<V1IPAddress>>({
  group,
  kind: 'IPAddress',
  plural: 'ipaddresses',
  shortNames: ['ip'],
  columns: [nameColumn, column('ParentRef', 'Who has the address.')],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    parentText(spec?.parentRef),
    age(metadata.creationTimestamp, nowMs),
  ],
  selectableFields: {},
  strategy: {
    validateName: strictAddressProblems,
    validate({ spec }, errors) {
      if (!spec?.parentRef) errors.push(required('spec.parentRef'))
      else {
        const { group: parentGroup, namespace } = spec.parentRef
        if (parentGroup) reject(errors, 'spec.parentRef.group', parentGroup, dns1123Subdomain(parentGroup))
        for (const name of ['resource', 'name'] as const) {
          const value = spec.parentRef[name]
          if (!value) errors.push(required(`spec.parentRef.${name}`))
          else reject(errors, `spec.parentRef.${name}`, value, pathSegmentName(value))
        }
        if (namespace) reject(errors, 'spec.parentRef.namespace', namespace, pathSegmentName(namespace))
      }
    },
    validateUpdate: (object, old, errors) =>
      validateImmutable(
        object.spec?.parentRef,
        old.spec?.parentRef,
        'spec.parentRef',
        errors,
        'io.k8s.api.networking.v1.ParentReference',
      ),
  },
  example: {
    metadata: { name: '10.96.0.77' },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  },
})

interface ParentRef {
  group?: string
  resource?: string
  namespace?: string
  name?: string
}
const parentText = (parent: ParentRef | undefined): string => {
  if (!parent) return '<none>'
  const { group: parentGroup, resource, namespace, name } = parent
  const first = parentGroup ? `${resource}.${parentGroup}` : resource
  return [first, ...(namespace ? [namespace] : []), name].join('/')
}

const servicecidr = plain<WithMeta<V1ServiceCIDR>>({
  group,
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  columns: [nameColumn, column('CIDRs', 'Ranges that services get addresses of.'), ageColumn],
  cells: ({ metadata, spec }, nowMs) => [
    metadata.name,
    spec?.cidrs?.join(',') ?? '',
    age(metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  statusKeepsMetadata: true,
  strategy: {
    validate: ({ spec }, errors) => validateNewRanges(spec?.cidrs ?? [], errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource !== 'status') validateRanges(object.spec?.cidrs, old.spec?.cidrs ?? [], errors)
    },
  },
  example: { metadata: { name: 'more' }, spec: { cidrs: ['10.250.0.0/24'] } },
})

/** Upstream: validateServiceCIDRSpec. */
function validateNewRanges(ranges: string[], errors: FieldErrors): void {
  const field = 'spec.cidrs'
  if (ranges.length === 0) {
    errors.push(required(field, 'at least one CIDR required'))
    return
  }
  if (ranges.length > 2) {
    errors.push(invalid(field, { CIDRs: ranges }, 'may only hold up to 2 values'))
    return
  }
  const count = errors.length
  for (const [index, range] of ranges.entries()) reject(errors, `${field}[${index}]`, range, strictCidrProblems(range))
  const [isFirst6, isSecond6] = ranges.map((range) => range.includes(':'))
  if (ranges.length < 2 || errors.length > count || isFirst6 !== isSecond6) return
  const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
  errors.push(invalid(field, ranges, detail))
}

/** A second range may be added; nothing else changes. */
function validateRanges(written: string[] | undefined, old: string[], errors: FieldErrors): void {
  const ranges = written ?? []
  const detail = 'field is immutable'
  const isAdded = old.length === 1 && ranges.length === 2
  if (ranges.length !== old.length && !isAdded) {
    errors.push(invalid('spec.cidrs', written ?? null, detail))
    return
  }
  for (const [index, range] of old.entries())
    if (ranges[index] !== range) errors.push(invalid(`spec.cidrs[${index}]`, ranges[index], detail))
  if (isAdded) validateNewRanges(ranges, errors)
}

export const networking: ResourceDefinition[] = [ingressclass, ipaddress, servicecidr]
