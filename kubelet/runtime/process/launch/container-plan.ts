import type { ContainerConfig, RuntimeCapabilities, Sandbox } from '../../container-runtime.ts'
import { whyNotExecutable, whyNoWorkingDir } from '../../executable.ts'
import { newId } from '../new-id.ts'
import type { Processes, StoredContainer } from '../record-store.ts'
import { startFailure } from '../runtime-errors.ts'
import { whyNoFilter } from '../seccomp/chosen-filter.ts'
import { ordinaryIdentity } from '../view/identity.ts'
import { containerFiles } from './container-files.ts'
import { containerEnvironment } from './container-launch.ts'
import { tooLong, whyTooLong } from './program-size.ts'

interface PlanOptions {
  sandbox: Sandbox
  capabilities: RuntimeCapabilities
  /** True if the container joins the PID namespace of another one. */
  hasTarget: boolean
  nowMs: number
  runtimeRoot: string
  clockFile: string
}

/** Decides how this machine runs a container, and what its record says; `problem` is the reason why it cannot run. */
export function planContainer(config: ContainerConfig, options: PlanOptions) {
  const { sandbox, capabilities, hasTarget, nowMs, ...places } = options
  const id = newId()
  const { ownFiles, user, hostPath } = containerFiles(config, capabilities)
  const names = { hostname: sandbox.hostname, containerId: id, ownFiles, user }
  const env = containerEnvironment(config, { ...names, ...places })
  const workingDir = config.workingDir || '/'
  const { command } = config
  const large = config.tooLong === undefined ? whyTooLong(command, env) : tooLong(command, config.tooLong)
  const problem =
    large ??
    whyNotWithImage(config, capabilities) ??
    whyNoFilter(config.seccomp) ??
    whyNoWorkingDir(workingDir, hostPath) ??
    whyNotExecutable(command, { searchPath: env.PATH ?? '', workingDir, hostPath })
  const stored: StoredContainer = {
    ...config,
    ...(large && { command: command.slice(0, 1), env: {} }),
    id,
    podUid: sandbox.podUid,
    createdAtMs: nowMs,
    processes: hasTarget ? 'pod' : processesOf(sandbox, capabilities),
    ownIpc: capabilities.isolation === 'pod' && !sandbox.hostIPC,
    ownFiles,
    ...(config.root && { imageUser: user }),
    ...(problem && { startError: startFailure(problem) }),
  }
  return { stored, problem, env, workingDir, user }
}

function processesOf({ shareProcessNamespace, hostPID }: Sandbox, { isolation }: RuntimeCapabilities): Processes {
  if (isolation === 'none' || hostPID) return 'host'
  return !shareProcessNamespace ? 'own' : ordinaryIdentity() ? 'host' : 'pod'
}

/** An image's files are seen in a namespace alone, and an image need not have a command. */
function whyNotWithImage({ root, command }: ContainerConfig, { isolation }: RuntimeCapabilities): string | undefined {
  if (root && isolation === 'none') return 'error during container init: the files of an image need namespaces'
  return root && command.length === 0 ? 'no command specified' : undefined
}
