import type { Container } from '../../shared/api/types.ts'
import { capabilityNames } from '../runtime/capability-names.ts'
import type { ProcessRights } from '../runtime/container-runtime.ts'

/**
 * Capabilities of a container whose manifest says nothing: those of containerd, without `MKNOD`. A container runtime
 * lets programs make devices and keeps them from opening them; here nothing would keep them from the machine's disk.
 */
const usual = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE'],
  ...['NET_RAW', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
]

/**
 * Reads a container's `securityContext` as containerd does: it applies `ALL` first, then adds, then drops capabilities.
 */
export function processRights({ securityContext }: Pick<Container, 'securityContext'>): ProcessRights {
  const { privileged = false, allowPrivilegeEscalation, capabilities, procMount } = securityContext ?? {}
  const [add, drop] = [plainNames(capabilities?.add), plainNames(capabilities?.drop)]
  const first = privileged || add.includes('ALL') ? capabilityNames : usual
  const base = !privileged && drop.includes('ALL') ? [] : first
  const kept = privileged ? base : [...new Set([...base, ...add])].filter((name) => !drop.includes(name))
  return {
    capabilities: kept.filter((name) => capabilityNames.includes(name)),
    ...((add.length > 0 || drop.length > 0) && { asked: { add, drop } }),
    noNewPrivileges: allowPrivilegeEscalation === false,
    privileged,
    ...(procMount === 'Unmasked' && { openProc: true }),
  }
}

const plainNames = (names: string[] = []): string[] => names.map((name) => name.toUpperCase().replace(/^CAP_/, ''))
