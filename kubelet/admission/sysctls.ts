import { safeSysctls } from '../../shared/api/safe-sysctls.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Rejection } from '../pods/admission.ts'

/**
 * Refuses a kernel parameter that a pod may not set. Where pods share the machine's network and IPC (`shared`), none can be set:
 * upstream refuses them in a pod that asks for that.
 */
export const forbiddenSysctl =
  ({ shared }: { shared: boolean }) =>
  ({ spec }: Pod): Rejection | undefined => {
    const reason = 'SysctlForbidden'
    for (const { name } of spec.securityContext?.sysctls ?? []) {
      const quoted = JSON.stringify(name)
      const sharesNetwork = (shared || spec.hostNetwork) && name.startsWith('net.')
      if (!safeSysctls.has(name)) return { reason, message: `forbidden sysctl: ${quoted} not allowlisted` }
      if (sharesNetwork) return { reason, message: `forbidden sysctl: ${quoted} not allowed with host net enabled` }
      if ((shared || spec.hostIPC) && name.startsWith('kernel.')) {
        return { reason, message: `forbidden sysctl: ${quoted} not allowed with host ipc enabled` }
      }
    }
    return undefined
  }
