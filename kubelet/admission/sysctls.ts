import type { Pod } from '../../shared/api/types.ts'
import type { Rejection } from '../pods/admission.ts'

/** Those that concern nobody but the pod; upstream: pkg/kubelet/sysctl/safe_sysctls.go. */
const SAFE = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
])

/** A kernel parameter that a pod may not set. */
export function forbiddenSysctl({ spec }: Pod): Rejection | undefined {
  const reason = 'SysctlForbidden'
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const quoted = JSON.stringify(name)
    const sharesNetwork = spec.hostNetwork && name.startsWith('net.')
    if (!SAFE.has(name)) return { reason, message: `forbidden sysctl: ${quoted} not allowlisted` }
    if (sharesNetwork) return { reason, message: `forbidden sysctl: ${quoted} not allowed with host net enabled` }
    if (spec.hostIPC && name.startsWith('kernel.')) {
      return { reason, message: `forbidden sysctl: ${quoted} not allowed with host ipc enabled` }
    }
  }
  return undefined
}
