/** Kernel parameters that concern only the pod that sets them; upstream: pkg/kubelet/sysctl/safe_sysctls.go. */
export const safeSysctls = new Set([
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

/** Says whether a kernel parameter, by its name with dots, is one of a network namespace. */
export const isOfNetwork = (name: string): boolean => name.startsWith('net.')

/**
 * `kernel/shm_rmid_forced` is `kernel.shm_rmid_forced`; the first separator decides. Upstream: NormalizeName in
 * k8s.io/component-helpers.
 */
export function sysctlName(text: string): string {
  const first = /[./]/.exec(text)?.[0]
  return first === '/' ? text.replace(/[./]/g, (one) => (one === '/' ? '.' : '/')) : text
}
