/** Kinds of networking beside Ingress and NetworkPolicy. */
import type { V1IngressClass, V1IPAddress, V1ServiceCIDR } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn, orNone } from '../../kind/cells.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { addressProblems, cidrProblems } from '../../validation/ip.ts'
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
      validateIngressClass(object, errors)
      validateImmutable(object.spec?.controller, old.spec?.controller, 'spec.controller', errors)
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
  else reject(errors, 'spec.controller', controller, domainPrefixedPath(controller))
  const parameters = spec?.parameters
  if (!parameters) return
  const at = 'spec.parameters'
  const { apiGroup } = parameters
  if (apiGroup !== undefined) reject(errors, `${at}.apiGroup`, apiGroup, dns1123Subdomain(apiGroup))
  if (!parameters.kind) errors.push(required(`${at}.kind`))
  if (!parameters.name) errors.push(required(`${at}.name`))
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
    validateName: (name) => addressProblems(name),
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
  if (!parent) return ''
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
    orNone(spec?.cidrs?.join(',')),
    age(metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  statusKeepsMetadata: true,
  strategy: {
    validate({ spec }, errors) {
      const cidrs = spec?.cidrs ?? []
      if (cidrs.length === 0) errors.push(required('spec.cidrs', 'at least one CIDR required'))
      if (cidrs.length > 2) errors.push(invalid('spec', spec, 'may only hold up to 2 values'))
      for (const [index, cidr] of cidrs.entries())
        for (const problem of cidrProblems(cidr)) errors.push(invalid(`spec.cidrs[${index}]`, cidr, problem))
    },
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource !== 'status') validateImmutable(object.spec?.cidrs, old.spec?.cidrs, 'spec.cidrs', errors)
    },
  },
  example: { metadata: { name: 'more' }, spec: { cidrs: ['10.250.0.0/24'] } },
})

export const networking: ResourceDefinition[] = [ingressclass, ipaddress, servicecidr]
