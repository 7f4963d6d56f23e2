/** Rules of services, in upstream's order. */
import type { Service } from '../../../../shared/api/types.ts'
import { duplicate, forbidden, invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { addressProblems, cidrProblems, isAddress, isIPv6 } from '../../../validation/ip.ts'
import { dns1123Label, dns1123Subdomain, portName, portNumber, qualifiedName } from '../../../validation/names.ts'
import { validateLabels } from '../../../validation/object-meta.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { reject, validateChoice, validateRequiredChoice } from '../../parts/messages.ts'

type Spec = NonNullable<Service['spec']>
type Port = NonNullable<Spec['ports']>[number]

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const protocols = ['SCTP', 'TCP', 'UDP']
const affinities = ['ClientIP', 'None']
const families = ['IPv4', 'IPv6']
const familyPolicies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
const trafficPolicies = ['Cluster', 'Local']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const KUBELET_PORT = 10_250
const MAX_AFFINITY_SECONDS = 86_400

export const isHeadless = ({ clusterIP, clusterIPs }: Spec): boolean =>
  clusterIP === 'None' || clusterIPs?.[0] === 'None'

export function validateService({ spec = {} }: Service, errors: FieldErrors): void {
  const ports = spec.ports ?? []
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') errors.push(required('spec.ports'))
  validateType(spec, errors)
  const names = new Set<string>()
  for (const [index, port] of ports.entries()) {
    validatePort(port, { nameRequired: ports.length > 1, names }, `spec.ports[${index}]`, errors)
  }
  validateLabels(spec.selector, 'spec.selector', errors)
  validateAffinity(spec, errors)
  if (spec.type !== 'ExternalName') validateClusterIps(spec, errors)
  for (const [index, ip] of (spec.externalIPs ?? []).entries()) {
    const field = `spec.externalIPs[${index}]`
    const problems = addressProblems(ip)
    reject(errors, field, ip, problems.length > 0 ? problems : specialAddress(ip))
  }
  validateRequiredChoice(spec.type, types, 'spec.type', errors)
  validateNodePorts(spec, errors)
  validateSourceRanges(spec, errors)
  validateTraffic(spec, errors)
}

/** Validates what each type of service needs, and what it cannot have. */
function validateType(spec: Spec, errors: FieldErrors): void {
  const { type } = spec
  if (type === 'LoadBalancer') {
    for (const [index, { port }] of (spec.ports ?? []).entries()) {
      if (port === KUBELET_PORT) {
        const detail = `may not expose port ${KUBELET_PORT} externally since it is used by kubelet`
        errors.push(invalid(`spec.ports[${index}]`, port, detail))
      }
    }
  }
  if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(spec)) {
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`))
  }
  if (type !== 'ExternalName') return
  const detail = 'may not be set for ExternalName services'
  if (spec.clusterIPs?.length) errors.push(forbidden('spec.clusterIPs', detail))
  if (spec.ipFamilies?.length) errors.push(forbidden('spec.ipFamilies', detail))
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbidden('spec.ipFamilyPolicy', detail))
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  if (name === '') errors.push(required('spec.externalName'))
  else reject(errors, 'spec.externalName', name, dns1123Subdomain(name))
}

function validatePort(
  port: Port,
  { nameRequired, names }: { nameRequired: boolean; names: Set<string> },
  path: string,
  errors: FieldErrors,
): void {
  if (nameRequired && !port.name) errors.push(required(`${path}.name`))
  else if (port.name) {
    reject(errors, `${path}.name`, port.name, dns1123Label(port.name))
    if (names.has(port.name)) errors.push(duplicate(`${path}.name`, port.name))
    names.add(port.name)
  }
  reject(errors, `${path}.port`, port.port, portNumber(port.port))
  validateRequiredChoice(port.protocol, protocols, `${path}.protocol`, errors)
  const target = port.targetPort as unknown as number | string
  reject(errors, `${path}.targetPort`, target, typeof target === 'number' ? portNumber(target) : portName(target ?? ''))
  if (port.appProtocol !== undefined)
    reject(errors, `${path}.appProtocol`, port.appProtocol, qualifiedName(port.appProtocol))
}

function validateAffinity({ sessionAffinity, sessionAffinityConfig: config }: Spec, errors: FieldErrors): void {
  const field = 'spec.sessionAffinity'
  validateRequiredChoice(sessionAffinity, affinities, field, errors)
  const path = 'spec.sessionAffinityConfig'
  if (sessionAffinity === 'ClientIP') {
    const detail = 'when session affinity type is ClientIP'
    const seconds = config?.clientIP?.timeoutSeconds
    if (!config) errors.push(required(path, detail))
    else if (!config.clientIP) errors.push(required(`${path}.clientIP`, detail))
    else if (seconds === undefined) errors.push(required(`${path}.clientIP.timeoutSeconds`, detail))
    else if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS) {
      const range = `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`
      errors.push(invalid(`${path}.clientIP.timeoutSeconds`, seconds, range))
    }
  } else if (sessionAffinity === 'None' && config) {
    errors.push(forbidden(path, 'must not be set when session affinity is None'))
  }
}

/** Addresses and families of a service that has them. */
export function validateClusterIps(spec: Spec, errors: FieldErrors): void {
  const field = 'spec.clusterIPs'
  const ips = spec.clusterIPs ?? []
  if (spec.clusterIP) {
    if (ips.length === 0) errors.push(required(field))
    else if (ips[0] !== spec.clusterIP) errors.push(invalid(field, ips, 'first value must match `clusterIP`'))
  } else if (ips.length > 0) errors.push(invalid(field, ips, 'must be empty when `clusterIP` is not specified'))
  const seen = new Set<string>()
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const at = `spec.ipFamilies[${index}]`
    if (!families.includes(family)) errors.push(notSupported(at, family, families))
    if (seen.has(family)) errors.push(duplicate(at, family))
    seen.add(family)
  }
  const policy = spec.ipFamilyPolicy
  validateChoice(policy, familyPolicies, 'spec.ipFamilyPolicy', errors)
  const before = errors.length
  for (const [index, ip] of ips.entries()) {
    if (index === 0 && ip === 'None') {
      if (ips.length > 1) errors.push(invalid(field, ips, "'None' must be the first and only value"))
    } else reject(errors, `${field}[${index}]`, ip, addressProblems(ip))
  }
  const areGood = errors.length === before
  if (ips.length > 2) errors.push(invalid(field, ips, 'may only hold up to 2 values'))
  if (!areGood) return
  if (ips.length > 1 && new Set(ips.map(isIPv6)).size < 2) {
    errors.push(invalid(field, ips, 'may specify no more than one IP for each IP family'))
  }
  if (isHeadless(spec)) return
  for (const [index, ip] of ips.entries()) {
    const family = spec.ipFamilies?.[index]
    const found = isIPv6(ip) ? 'IPv6' : 'IPv4'
    if (family !== undefined && family !== found && families.includes(family)) {
      errors.push(
        invalid(`${field}[${index}]`, ip, `expected an ${family} value as indicated by \`ipFamilies[${index}]\``),
      )
    }
  }
}

function specialAddress(ip: string): string[] {
  if (ip === '0.0.0.0' || ip === '::') return [`may not be unspecified (${ip})`]
  if (ip.startsWith('127.') || ip === '::1') return ['may not be in the loopback range (127.0.0.0/8, ::1/128)']
  if (ip.startsWith('169.254.') || /^fe80:/i.test(ip)) {
    return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)']
  }
  if (ip.startsWith('224.0.0.') || /^ff02:/i.test(ip)) {
    return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)']
  }
  return []
}

function validateNodePorts({ type, ports = [] }: Spec, errors: FieldErrors): void {
  if (type === 'ClusterIP') {
    for (const [index, { nodePort }] of ports.entries()) {
      if (nodePort)
        errors.push(forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"))
    }
  }
  const nodePorts = new Set<string>()
  for (const [index, { protocol, nodePort }] of ports.entries()) {
    if (!nodePort) continue
    const key = `${protocol}/${nodePort}`
    if (nodePorts.has(key)) errors.push(duplicate(`spec.ports[${index}].nodePort`, nodePort))
    nodePorts.add(key)
  }
  const pairs = new Set<string>()
  for (const [index, { protocol, port }] of ports.entries()) {
    const key = `${protocol}/${port}`
    if (pairs.has(key)) {
      const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 }
      errors.push(duplicate(`spec.ports[${index}]`, shown))
    }
    pairs.add(key)
  }
}

const balanced = "may only be used when `type` is 'LoadBalancer'"

function validateSourceRanges({ type, loadBalancerSourceRanges: ranges = [] }: Spec, errors: FieldErrors): void {
  if (ranges.length === 0) return
  if (type !== 'LoadBalancer') errors.push(forbidden('spec.LoadBalancerSourceRanges', balanced))
  for (const [index, range] of ranges.entries()) {
    reject(errors, `spec.LoadBalancerSourceRanges[${index}]`, range, cidrProblems(range.trim()))
  }
}

function validateTraffic(spec: Spec, errors: FieldErrors): void {
  if (spec.type !== 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== undefined)
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', balanced))
  validateBalancerClass(spec, errors)
  validateExternalPolicy(spec, errors)
  const internal = spec.internalTrafficPolicy
  validateChoice(internal, trafficPolicies, 'spec.internalTrafficPolicy', errors)
  const needsAddress = spec.type === undefined || ['ClusterIP', 'LoadBalancer', 'NodePort'].includes(spec.type)
  if (internal === undefined && needsAddress) errors.push(required('spec.internalTrafficPolicy'))
  const distribution = spec.trafficDistribution
  validateChoice(distribution, distributions, 'spec.trafficDistribution', errors)
}

function validateBalancerClass({ type, loadBalancerClass: name }: Spec, errors: FieldErrors): void {
  if (name === undefined) return
  if (type === 'LoadBalancer') reject(errors, 'spec.loadBalancerClass', name, qualifiedName(name))
  else errors.push(forbidden('spec.loadBalancerClass', balanced))
}

function validateExternalPolicy(spec: Spec, errors: FieldErrors): void {
  const { type, externalTrafficPolicy: policy, healthCheckNodePort: port = 0 } = spec
  const field = 'spec.externalTrafficPolicy'
  const isExternal =
    type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0)
  if (!isExternal) {
    if (policy) {
      const detail = 'may only be set for externally-accessible services'
      errors.push(invalid(field, policy, detail))
    }
  } else validateRequiredChoice(policy, trafficPolicies, field, errors)
  const portField = 'spec.healthCheckNodePort'
  if (type === 'LoadBalancer' && policy === 'Local') {
    if (port !== 0) reject(errors, portField, port, portNumber(port))
  } else if (port !== 0) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    errors.push(invalid(portField, port, detail))
  }
}

export function validateServiceUpdate(service: Service, old: Service, errors: FieldErrors): void {
  const [spec, before] = [service.spec ?? {}, old.spec ?? {}]
  if (spec.type !== 'ExternalName' && before.type !== 'ExternalName') {
    const [ips, had] = [spec.clusterIPs ?? [], before.clusterIPs ?? []]
    if (had.length > 0 && had[0] !== ips[0]) {
      errors.push(invalid('spec.clusterIPs[0]', ips, 'may not change once set'))
    }
    const [wanted, known] = [spec.ipFamilies ?? [], before.ipFamilies ?? []]
    if (known.length > 0 && wanted.length > 0 && known[0] !== wanted[0]) {
      errors.push(invalid('spec.ipFamilies[0]', wanted[0], 'may not change once set'))
    }
  }
  const bothBalanced = spec.type === 'LoadBalancer' && before.type === 'LoadBalancer'
  if (bothBalanced && !deepEqual(spec.loadBalancerClass, before.loadBalancerClass)) {
    errors.push(invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set'))
  }
  // Upstream tells mistakes of the class twice.
  validateBalancerClass(spec, errors)
  const healthChecked = (one: Spec) => one.type === 'LoadBalancer' && one.externalTrafficPolicy === 'Local'
  if (healthChecked(before) && healthChecked(spec) && spec.healthCheckNodePort !== before.healthCheckNodePort) {
    errors.push(forbidden('spec.healthCheckNodePort', 'field is immutable'))
  }
  validateService(service, errors)
}

export function validateServiceStatus({ spec, status }: Service, errors: FieldErrors): void {
  const ingress = status?.loadBalancer?.ingress ?? []
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer') {
    errors.push(forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'"))
    return
  }
  for (const [index, { ip, hostname }] of ingress.entries()) {
    const at = `status.loadBalancer.ingress[${index}]`
    if (ip) reject(errors, `${at}.ip`, ip, addressProblems(ip))
    if (hostname) reject(errors, `${at}.hostname`, hostname, dns1123Subdomain(hostname))
    if (hostname && isAddress(hostname)) {
      errors.push(invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address'))
    }
  }
}
