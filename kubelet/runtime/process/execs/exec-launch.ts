import { existsSync } from 'node:fs'
import type { ExecOptions, Sandbox } from '../../container-runtime.ts'
import { whyNotExecutable } from '../../executable.ts'
import { placeInRoot } from '../../place-in-root.ts'
import type { Container } from '../containers/container.ts'
import { containerEnvironment } from '../launch/container-launch.ts'
import type { Launch } from '../launch/launch.ts'
import { whyTooLong } from '../launch/program-size.ts'
import { programUser } from '../launch/program-user.ts'
import { newId } from '../new-id.ts'
import { execFailure, noTask } from '../runtime-errors.ts'

/**
 * Returns the launch of a command beside a container's process, or containerd's message if the command cannot start.
 */
export function execLaunch(
  {
    id,
    container,
    sandbox,
    entrances,
    ...places
  }: {
    id: string
    container?: Container
    sandbox?: Sandbox
    runtimeRoot: string
    clockFile: string
    /** Files by which it enters the container's control group; none without limits. */
    entrances: readonly string[]
  },
  { command, env: added }: Pick<ExecOptions, 'command' | 'env'>,
): { launch: Launch } | { code: 'NotFound' | 'Unknown'; problem: string } {
  const gone = { code: 'NotFound', problem: `failed to exec in container: ${noTask(id)}` } as const
  if (!container || !sandbox || container.record.state === 'exited') return gone
  const { stored, record } = container
  const { pid } = record
  // It has ended, and this has not been reported yet.
  if (stored.ownFiles && !existsSync(`/proc/${pid}/root`)) return gone
  const workingDir = stored.workingDir || '/'
  const user = stored.imageUser ?? (stored.ownFiles ? programUser(stored.user) : undefined)
  const names = { hostname: sandbox.hostname, containerId: id, ownFiles: stored.ownFiles, user, ...places }
  const env = { ...containerEnvironment(stored, names), ...added }
  const placed = (file: string): string => `/proc/${pid}/root${file}`
  const inImage = (file: string): string => placeInRoot(file, placed)
  const hostPath = stored.root ? inImage : stored.ownFiles ? placed : undefined
  const problem =
    whyTooLong(command, env) ?? whyNotExecutable(command, { searchPath: env.PATH ?? '', workingDir, hostPath })
  if (problem) return { code: 'Unknown', problem: execFailure(newId(), problem) }
  const processes = stored.processes !== 'host'
  const namespaces: Launch['namespaces'] =
    processes || stored.ownFiles || stored.ownIpc
      ? {
          kind: 'enter',
          pid,
          processes,
          cgroup: entrances.length > 0,
          hostname: !sandbox.hostNetwork,
          ipc: stored.ownIpc ?? false,
          network: sandbox.ownNetwork ?? false,
          files: stored.ownFiles,
          users: stored.root !== undefined && sandbox.firstUser !== undefined,
        }
      : { kind: 'none' }
  const { rights, oomScore, seccomp } = stored
  const limited = { entrances, ...(oomScore !== undefined && { oomScore }) }
  return { launch: { command, env, workingDir, rights, user, ...(seccomp && { seccomp }), ...limited, namespaces } }
}
