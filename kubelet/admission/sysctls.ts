import { safeSysctls } from '../../shared/api/safe-sysctls.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Rejection } from '../pods/admission.ts'

/** A kernel parameter that a pod may not set. */
export function forbiddenSysctl({ spec }: Pod): Rejection | undefined {
  const reason = 'SysctlForbidden'
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const quoted = JSON.stringify(name)
    const sharesNetwork = spec.hostNetwork && name.startsWith('net.')
    if (!safeSysctls.has(name)) return { reason, message: `forbidden sysctl: ${quoted} not allowlisted` }
    if (sharesNetwork) return { reason, message: `forbidden sysctl: ${quoted} not allowed with host net enabled` }
    if (spec.hostIPC && name.startsWith('kernel.')) {
      return { reason, message: `forbidden sysctl: ${quoted} not allowed with host ipc enabled` }
    }
  }
  return undefined
}
