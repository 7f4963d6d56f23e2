/**
 * Gives a service its addresses, families and ports before it is validated, and takes those that its type no longer
 * has.
 */

import type { Service } from '../../../../shared/api/types.ts'
import type { ServiceAddresses } from '../../../kind/resource-definition.ts'
import { invalid } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { isIPv6 } from '../../../validation/ip.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { isHeadless, validateClusterIps } from './validate.ts'

type Spec = NonNullable<Service['spec']>

const needsClusterIp = ({ type }: Spec): boolean => type !== 'ExternalName'
const needsNodePort = (spec: Spec): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false)
const needsHealthCheckPort = ({ type, externalTrafficPolicy }: Spec): boolean =>
  type === 'LoadBalancer' && externalTrafficPolicy === 'Local'

/** Addresses that the client left out on an update stay. */
export function keepAllocated(spec: Spec, old: Spec): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    spec.clusterIP ||= old.clusterIP
    if (!spec.clusterIPs?.length) spec.clusterIPs = old.clusterIPs
  }
  if (needsNodePort(old) && needsNodePort(spec)) {
    const taken = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort).filter(Boolean))
    for (const port of spec.ports ?? []) {
      if (port.nodePort) continue
      const before = old.ports?.find((one) => one.port === port.port && one.protocol === port.protocol)?.nodePort
      if (before && !taken.has(before)) {
        port.nodePort = before
        taken.add(before)
      }
    }
  }
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec)) spec.healthCheckNodePort ||= old.healthCheckNodePort
}

/** `clusterIP` and the first of `clusterIPs` are one value: a change of one of them changes both. */
export function normalizeClusterIps(spec: Spec, old: Spec | undefined): void {
  if (!old) {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP]
    return
  }
  const sameList = deepEqual(spec.clusterIPs, old.clusterIPs)
  const wasCleared = old.clusterIP && !spec.clusterIP
  if (wasCleared && sameList) spec.clusterIPs = undefined
  const listCleared = old.clusterIPs?.length && !spec.clusterIPs?.length
  if (listCleared && spec.clusterIP === old.clusterIP) spec.clusterIP = undefined
  if (spec.clusterIP !== old.clusterIP && spec.clusterIP && sameList) spec.clusterIPs = [spec.clusterIP]
  if (spec.clusterIP && !spec.clusterIPs?.length && !listCleared) spec.clusterIPs = [spec.clusterIP]
}

export function allocate(
  service: Service,
  old: Service | undefined,
  addresses: ServiceAddresses | undefined,
  errors: FieldErrors,
): void {
  const { spec } = service
  if (!spec) return
  const before = old?.spec
  if (needsClusterIp(spec)) {
    validateClusterIps(spec, errors)
    if (errors.length > 0) return
    fillFamilies(spec, before, errors)
    if (errors.length > 0) return
    if (!isHeadless(spec)) allocateIps(spec, before, addresses, errors)
  }
  if (errors.length > 0) return
  allocatePorts(spec, before, addresses, errors)
}

/** Fills in families that the spec does not name. Upstream: pkg/registry/core/service/storage/alloc.go. */
function fillFamilies(spec: Spec, before: Spec | undefined, errors: FieldErrors): void {
  // Another component fills in its endpoints, of either family.
  const isOpen = isHeadless(spec) && Object.keys(spec.selector ?? {}).length === 0
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (isOpen ? 'RequireDualStack' : 'SingleStack')
  const policy = spec.ipFamilyPolicy
  const families = [...(spec.ipFamilies ?? [])]
  const ips = isHeadless(spec) ? [] : (spec.clusterIPs ?? [])
  const needsBoth = (what: string): void =>
    void errors.push(
      invalid(
        'spec.ipFamilyPolicy',
        policy,
        `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
      ),
    )
  if (policy === 'SingleStack' && ips.length === 2) needsBoth('cluster IPs')
  if (policy === 'SingleStack' && families.length === 2) needsBoth('IP families')
  for (const [index, ip] of ips.entries()) {
    if (index < families.length) continue
    if (isIPv6(ip)) errors.push(invalid(`spec.clusterIPs[${index}]`, ips, 'IPv6 is not configured on this cluster'))
    else families.push('IPv4')
  }
  if (errors.length > 0) return
  spec.ipFamilies = families.length > 0 ? families : ['IPv4']
  if (isOpen) {
    if (policy !== 'SingleStack' && spec.ipFamilies.length < 2)
      spec.ipFamilies.push(spec.ipFamilies[0] === 'IPv4' ? 'IPv6' : 'IPv4')
    return
  }
  if (policy === 'RequireDualStack')
    errors.push(invalid('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services'))
  for (const [index, family] of families.entries())
    if (family !== 'IPv4') errors.push(invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster'))
}

function allocateIps(
  spec: Spec,
  before: Spec | undefined,
  addresses: ServiceAddresses | undefined,
  errors: FieldErrors,
): void {
  if (!addresses) return
  const given = spec.clusterIPs ?? []
  const had = before && needsClusterIp(before) ? (before.clusterIPs ?? []) : []
  if (given.length === 0) {
    const ip = addresses.nextIp()
    spec.clusterIP = ip
    spec.clusterIPs = [ip]
    return
  }
  // A change of the address is refused by validation, which knows what may change.
  if (had.length > 0 && had[0] !== 'None') return
  for (const ip of given) {
    const problem = addresses.takeIp(ip)
    if (problem) errors.push(invalid('spec.clusterIPs', given, `failed to allocate IP ${ip}: ${problem}`))
  }
}

function allocatePorts(
  spec: Spec,
  before: Spec | undefined,
  addresses: ServiceAddresses | undefined,
  errors: FieldErrors,
): void {
  if (!addresses) return
  if (needsNodePort(spec)) {
    const own = new Map<string, number>()
    const had = new Set((before?.ports ?? []).map(({ nodePort }) => nodePort))
    const taken = new Set<number>()
    for (const [index, port] of (spec.ports ?? []).entries()) {
      if (port.nodePort) {
        // One number may serve several protocols of one service.
        if (had.has(port.nodePort) || taken.has(port.nodePort)) continue
        const problem = addresses.takePort(port.nodePort)
        // Upstream tells the first mistake alone.
        if (problem) return void errors.push(invalid(`spec.ports[${index}].nodePort`, port.nodePort, problem))
        taken.add(port.nodePort)
        own.set(`${port.port}`, port.nodePort)
      } else {
        port.nodePort = own.get(`${port.port}`) ?? addresses.nextPort()
        own.set(`${port.port}`, port.nodePort)
        taken.add(port.nodePort)
      }
    }
  }
  if (needsHealthCheckPort(spec)) {
    if (!spec.healthCheckNodePort) spec.healthCheckNodePort = addresses.nextPort()
    else if (spec.healthCheckNodePort !== before?.healthCheckNodePort) {
      const problem = addresses.takePort(spec.healthCheckNodePort)
      if (problem)
        errors.push(
          invalid(
            'spec.healthCheckNodePort',
            spec.healthCheckNodePort,
            `failed to allocate requested HealthCheck NodePort ${spec.healthCheckNodePort}: ${problem}`,
          ),
        )
    }
  }
}

const needsExternalPolicy = ({ type, externalIPs }: Spec): boolean =>
  type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && (externalIPs?.length ?? 0) > 0)

/** Fields that the new type has no use for go, unless the client has just set them. */
export function dropFieldsOfOldType(spec: Spec, old: Spec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (deepEqual(spec.clusterIPs, old.clusterIPs)) {
      spec.clusterIP = undefined
      spec.clusterIPs = undefined
    }
    if (deepEqual(spec.ipFamilies, old.ipFamilies)) spec.ipFamilies = undefined
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) spec.ipFamilyPolicy = undefined
  }
  const nodePorts = ({ ports = [] }: Spec) => ports.map(({ nodePort = 0 }) => nodePort)
  if (needsNodePort(old) && !needsNodePort(spec) && deepEqual(nodePorts(spec), nodePorts(old))) {
    for (const port of spec.ports ?? []) port.nodePort = undefined
  }
  if (
    needsHealthCheckPort(old) &&
    !needsHealthCheckPort(spec) &&
    spec.healthCheckNodePort === old.healthCheckNodePort
  ) {
    spec.healthCheckNodePort = undefined
  }
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    for (const name of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
      if (spec[name] === old[name]) spec[name] = undefined
    }
  }
  if (
    needsExternalPolicy(old) &&
    !needsExternalPolicy(spec) &&
    spec.externalTrafficPolicy === old.externalTrafficPolicy
  ) {
    spec.externalTrafficPolicy = undefined
  }
  if (
    old.type !== 'ExternalName' &&
    spec.type === 'ExternalName' &&
    spec.internalTrafficPolicy === old.internalTrafficPolicy
  ) {
    spec.internalTrafficPolicy = undefined
  }
}
