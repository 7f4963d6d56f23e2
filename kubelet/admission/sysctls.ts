import { isOfNetwork, safeSysctls, sysctlName } from '../../shared/api/pods/safe-sysctls.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Rejection } from '../pod/rejection.ts'

export interface SysctlPolicy {
  /** Pods share the machine's network: none of its parameters can be set. */
  sharesNetwork: boolean
  /** True if the node's pods cannot have an IPC namespace of their own. */
  sharesIpc: boolean
  /** Parameters that are allowed although they are not safe: names, or prefixes of names with `*`. */
  allowed?: readonly string[]
}

const ipcSysctls = /^(kernel\.(sem|shm(all|max|mni|_rmid_forced)?|msg(max|mnb|mni)?)$|fs\.mqueue\.)/

/**
 * The namespace of the parameter; undefined for one of the whole machine. Upstream:
 * k8s.io/component-helpers/node/util/sysctl.
 */
export function sysctlNamespace(pattern: string): 'net' | 'ipc' | undefined {
  const name = sysctlName(pattern).replace(/\*.*/, '')
  return isOfNetwork(name) ? 'net' : ipcSysctls.test(name) ? 'ipc' : undefined
}

/**
 * Refuses a kernel parameter that a pod may not set, or that cannot be set: upstream refuses those of the network and
 * of IPC in a pod that shares them with the machine. Upstream: pkg/kubelet/sysctl/allowlist.go.
 */
export function forbiddenSysctl({ sharesNetwork, sharesIpc, allowed = [] }: SysctlPolicy) {
  const isAllowed = (name: string): boolean =>
    safeSysctls.has(name) || allowed.map(sysctlName).some((pattern) => matches(name, pattern))
  return ({ spec }: Pod): Rejection | undefined => {
    const shared = { net: sharesNetwork || spec.hostNetwork, ipc: sharesIpc || spec.hostIPC }
    for (const name of (spec.securityContext?.sysctls ?? []).map(({ name }) => sysctlName(name))) {
      const namespace = sysctlNamespace(name)
      const why =
        !isAllowed(name) || !namespace
          ? 'allowlisted'
          : shared[namespace]
            ? `allowed with host ${namespace} enabled`
            : undefined
      if (why) return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${JSON.stringify(name)} not ${why}` }
    }
    return undefined
  }
}

const matches = (name: string, pattern: string): boolean =>
  pattern.includes('*') ? name.startsWith(pattern.replace(/\*.*/, '')) : name === pattern
