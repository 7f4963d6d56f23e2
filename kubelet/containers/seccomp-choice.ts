import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Container, Pod } from '../../shared/api/types.ts'
import type { SeccompChoice } from '../runtime/container-runtime.ts'

/**
 * Returns the profile of system calls that a container asks for, before its pod's; undefined where nothing is refused.
 * Throws where a file of the node cannot be read. Upstream: kuberuntime helpers.go, getSeccompProfile.
 */
export function seccompChoice(pod: Pod, { securityContext }: Container, rootDir: string): SeccompChoice | undefined {
  const profile = securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile
  if (!profile || securityContext?.privileged) return undefined
  if (profile.type === 'RuntimeDefault') return { name: 'RuntimeDefault' }
  if (profile.type !== 'Localhost') return undefined
  const file = path.join(rootDir, 'seccomp', profile.localhostProfile ?? '')
  try {
    return { name: file, text: readFileSync(file, 'utf8') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such file or directory' : (error as Error).message
    throw new Error(`failed to load seccomp profile "${file}": open ${file}: ${why}`)
  }
}
