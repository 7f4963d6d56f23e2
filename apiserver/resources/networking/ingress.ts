import type { V1IngressBackend, V1IngressSpec, V1IngressStatus } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { addressWarnings, isAddress } from '../../validation/ip.ts'
import {
  dns1123Label,
  dns1123Subdomain,
  pathSegmentName,
  portName,
  portNumber,
  wildcardSubdomain,
} from '../../validation/names.ts'
import { reject, validateAddress } from '../parts/messages.ts'
import { plain } from '../parts/plain.ts'

type Spec = Wire<V1IngressSpec>
type Backend = Wire<V1IngressBackend>
interface Ingress {
  metadata: ObjectMeta
  spec?: Spec
  status?: Wire<V1IngressStatus>
}
const CLASS_ANNOTATION = 'kubernetes.io/ingress.class'

export const ingress = plain<Ingress>({
  group: 'networking.k8s.io',
  kind: 'Ingress',
  plural: 'ingresses',
  namespaced: true,
  shortNames: ['ing'],
  columns: [
    nameColumn,
    column('Class', 'Who serves it.'),
    column('Hosts', 'Hosts that it is for.'),
    column('Address', 'Where it is reached.'),
    column('Ports', 'Ports that it listens on.'),
    ageColumn,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec?.ingressClassName ?? '<none>',
    hostsText(spec?.rules ?? []),
    addressesText(status?.loadBalancer?.ingress ?? []),
    spec?.tls?.length ? '80, 443' : '80',
    age(metadata.creationTimestamp, nowMs),
  ],
  hasStatus: true,
  countsGenerations: true,
  strategy: {
    validate({ metadata, spec }, errors) {
      validate(spec, errors)
      const annotation = metadata.annotations?.[CLASS_ANNOTATION]
      const { ingressClassName = annotation } = spec ?? {}
      if (annotation !== ingressClassName && annotation !== undefined)
        errors.push(
          invalid(
            `annotations.${CLASS_ANNOTATION}`,
            annotation,
            'must match `ingressClassName` when both are specified',
          ),
        )
    },
    validateUpdate({ spec, status }, old, errors, { subresource }) {
      if (subresource === 'status') validateLoadBalancer(status?.loadBalancer, old.status?.loadBalancer, errors)
      else validate(spec, errors)
    },
    warnings: ({ metadata, status }, old, { subresource }) =>
      subresource === 'status'
        ? (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }, index) =>
            addressWarnings(ip, `status.loadBalancer.ingress[${index}]`),
          )
        : metadata.annotations?.[CLASS_ANNOTATION] !== undefined && !old && !subresource
          ? [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`]
          : [],
  },
  example: {
    metadata: { name: 'web' },
    spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  },
})

/** Sorted, each once. */
const addressesText = (ingress: readonly { ip?: string; hostname?: string }[]): string =>
  [...new Set(ingress.flatMap(({ ip, hostname }) => ip || hostname || []))].sort().join(',')

const SHOWN_HOSTS = 3
function hostsText(rules: { host?: string }[]): string {
  const hosts = rules.map(({ host }) => host).filter((host) => !!host)
  if (hosts.length === 0) return '*'
  const more = hosts.length - SHOWN_HOSTS
  return more > 0 ? `${hosts.slice(0, SHOWN_HOSTS).join(',')} + ${more} more...` : hosts.join(',')
}

function validate(spec: Spec | undefined, errors: FieldErrors): void {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec ?? {}
  if (rules.length === 0 && !defaultBackend)
    errors.push(invalid('spec', spec?.rules ?? null, 'either `defaultBackend` or `rules` must be specified'))
  if (defaultBackend) validateBackend(defaultBackend, 'spec.defaultBackend', errors)
  for (const [index, rule] of rules.entries()) validateRule(rule, `spec.rules[${index}]`, errors)
  for (const [index, { hosts = [], secretName }] of tls.entries()) {
    const at = `spec.tls[${index}]`
    for (const [place, host] of hosts.entries()) {
      const rule = host.includes('*') ? wildcardSubdomain : dns1123Subdomain
      reject(errors, `${at}.hosts[${place}]`, host, rule(host))
    }
    if (secretName) reject(errors, `${at}.secretName`, secretName, dns1123Subdomain(secretName))
  }
  if (ingressClassName !== undefined)
    reject(errors, 'spec.ingressClassName', ingressClassName, dns1123Subdomain(ingressClassName))
}

type Rule = NonNullable<Spec['rules']>[number]
function validateRule({ host, http }: Rule, at: string, errors: FieldErrors): void {
  if (host) {
    if (isAddress(host)) errors.push(invalid(`${at}.host`, host, 'must be a DNS name, not an IP address'))
    const rule = host.includes('*') ? wildcardSubdomain : dns1123Subdomain
    reject(errors, `${at}.host`, host, rule(host))
  }
  if (!http) return
  const paths = http.paths ?? []
  if (paths.length === 0) errors.push(required(`${at}.http.paths`))
  for (const [index, { path = '', pathType, backend }] of paths.entries()) {
    const field = `${at}.http.paths[${index}]`
    if (!validatePath(path, pathType, field, errors)) continue
    validateBackend(backend, `${field}.backend`, errors)
  }
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']
const sequences = ['//', '/./', '/../', '%2f', '%2F']
const suffixes = ['/..', '/.']
/** Returns false if upstream looks at nothing more of the path. */
function validatePath(path: string, type: string | undefined, at: string, errors: FieldErrors): boolean {
  if (!type) {
    errors.push(required(`${at}.pathType`, 'pathType must be specified'))
    return false
  }
  if (!pathTypes.includes(type)) {
    errors.push(notSupported(`${at}.pathType`, type, pathTypes))
    return true
  }
  const field = `${at}.path`
  if (type === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) errors.push(invalid(field, path, 'must be an absolute path'))
    return true
  }
  if (!path.startsWith('/')) errors.push(invalid(field, path, 'must be an absolute path'))
  if (path === '') return true
  for (const sequence of sequences)
    if (path.includes(sequence)) errors.push(invalid(field, path, `must not contain '${sequence}'`))
  for (const suffix of suffixes)
    if (path.endsWith(suffix)) errors.push(invalid(field, path, `cannot end with '${suffix}'`))
  return true
}

function validateBackend(backend: Backend | undefined, at: string, errors: FieldErrors): void {
  const { service, resource } = backend ?? {}
  if (resource) {
    if (service) errors.push(invalid(at, '', 'cannot set both resource and service backends'))
    else {
      const { apiGroup } = resource
      if (typeof apiGroup === 'string') reject(errors, `${at}.resource.apiGroup`, apiGroup, dns1123Subdomain(apiGroup))
      for (const field of ['kind', 'name'] as const) {
        const value = resource[field]
        if (value) reject(errors, `${at}.resource.${field}`, value, pathSegmentName(value))
        else errors.push(required(`${at}.resource.${field}`))
      }
    }
    return
  }
  if (!service) {
    errors.push(invalid(at, '', 'resource or service backend is required'))
    return
  }
  if (!service.name) errors.push(required(`${at}.service.name`))
  else reject(errors, `${at}.service.name`, service.name, dns1123Label(service.name))
  const { name = '', number = 0 } = service.port ?? {}
  if (name !== '' && number !== 0) errors.push(invalid(at, '', 'cannot set both port name & port number'))
  else if (name !== '') reject(errors, `${at}.service.port.name`, name, portName(name))
  else if (number !== 0) reject(errors, `${at}.service.port.number`, number, portNumber(number))
  else errors.push(required(at, 'port name or number is required'))
}

type LoadBalancer = NonNullable<Wire<V1IngressStatus>['loadBalancer']>

/** Addresses that were there before may be as odd as they are. */
function validateLoadBalancer(
  { ingress = [] }: LoadBalancer = {},
  { ingress: before = [] }: LoadBalancer = {},
  errors: FieldErrors,
): void {
  const known = new Set(before.map(({ ip }) => ip))
  for (const [index, { ip, hostname }] of ingress.entries()) {
    const at = `status.loadBalancer.ingress[${index}]`
    if (ip && !known.has(ip)) validateAddress(ip, `${at}.ip`, errors)
    if (!hostname) continue
    for (const message of dns1123Subdomain(hostname)) errors.push(invalid(`${at}.hostname`, hostname, message))
    if (isAddress(hostname)) errors.push(invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address'))
  }
}
