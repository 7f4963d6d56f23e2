import path from 'node:path'
import { capabilityNames } from '../../capability-names.ts'
import type { ContainerConfig, ProcessRights, SeccompChoice, TerminalSize } from '../../container-runtime.ts'
import { chosenFilter } from '../seccomp/chosen-filter.ts'
import { systemCalls } from '../shim/system-calls.ts'
import { ordinaryIdentity } from '../view/identity.ts'
import type { Step } from '../view/steps.ts'
import { canSwitchUser, type ProgramUser, userSteps } from './program-user.ts'

/** A process to be started. */
export interface Launch {
  command: string[]
  /** The complete environment: nothing is added. */
  env: Record<string, string>
  workingDir: string
  /** Sets the rights of the process; by default those of the kubelet. */
  rights?: ProcessRights
  /** Names the user of the program if it is not the kubelet's own. */
  user?: ProgramUser
  /** The first size of its terminal, if it is on one and a size is known. */
  size?: TerminalSize
  /** Files by which it enters its control group. */
  entrances?: readonly string[]
  /** Names the system calls that are refused to it. */
  seccomp?: SeccompChoice
  /** See {@link ContainerConfig.oomScore}. */
  oomScore?: number
  namespaces: Namespaces
}

/** Says in which namespaces a process is started. */
export type Namespaces =
  | { kind: 'none' }
  /** In new ones, by their flags, with these steps to set them up; and beside a process, in its PID namespace. */
  | { kind: 'new'; flags: number; besidePid?: number; steps: Step[] }
  /** Enters the namespaces of a running process: its mounts, and whatever else it has for itself. */
  | {
      kind: 'enter'
      pid: number
      processes: boolean
      cgroup: boolean
      hostname: boolean
      ipc: boolean
      network: boolean
      files: boolean
      /** Users that are the container's own, where the kubelet is root. */
      users: boolean
    }

/** Returns the flags and steps that the shim needs for a launch. */
export function shimLaunch(launch: Launch): { namespaceFlags: number; besidePid?: number; steps: string[] } {
  const { namespaces } = launch
  const [first, done] = [bounds(launch), program(launch)]
  if (namespaces.kind === 'none') return { namespaceFlags: 0, steps: words([...first, ...done]) }
  const besidePid = namespaces.kind === 'new' ? namespaces.besidePid : namespaces.processes ? namespaces.pid : undefined
  // Another's PID namespace may be entered by root, and by one who is in its namespace of users: then not by the shim,
  // but by its child.
  if (namespaces.kind === 'enter' && ordinaryIdentity())
    return { namespaceFlags: 0, steps: words([...first, ...enter(namespaces), ['fork'], ...done]) }
  if (namespaces.kind === 'new')
    return { namespaceFlags: namespaces.flags, besidePid, steps: words([...first, ...namespaces.steps, ...done]) }
  const entered = enter({ ...namespaces, processes: false })
  return { namespaceFlags: 0, besidePid, steps: words([...first, ...entered, ...done]) }
}

/** Steps taken by `container.pl` as a program. */
export const aloneLaunch = (steps: Step[]): { file: string; args: string[] } => ({
  file: perl,
  args: [containerScript, ...words([['calls', ...systemCalls()], ...steps])],
})

export const perl = 'perl'
export const containerScript = path.join(import.meta.dirname, '../shim/container.pl')

/**
 * An ordinary user's networks belong to the user namespace that the shim is in: from there they are entered, before the
 * container's own users are.
 */
function enter({
  pid,
  processes,
  cgroup,
  hostname,
  ipc,
  network,
  files,
  users: ownUsers,
}: Omit<Namespaces & { kind: 'enter' }, 'kind'>): Step[] {
  const users = ordinaryIdentity() !== undefined
  const first: Step[] = users && network ? [['enter', String(pid), 'net']] : []
  const names = [
    ...(users ? ['user'] : []),
    ...(processes ? ['pid'] : []),
    ...(cgroup ? ['cgroup'] : []),
    ...(hostname ? ['uts'] : []),
    ...(ipc ? ['ipc'] : []),
    ...(network && !users ? ['net'] : []),
    'mnt',
    ...(files ? ['root'] : []),
    ...(ownUsers ? ['users'] : []),
  ]
  return [...first, ['enter', String(pid), ...names]]
}

const bounds = ({ entrances = [], oomScore }: Launch): Step[] => [
  ...(entrances.length > 0 ? [['cgroup', ...entrances] satisfies Step] : []),
  ...(oomScore === undefined ? [] : [['oomScore', String(oomScore)] satisfies Step]),
]

const program = ({ command, env, workingDir, rights, user, size, seccomp }: Launch): Step[] => [
  ...(size ? [['size', String(size.width), String(size.height)] satisfies Step] : []),
  ['within', workingDir],
  ...(rights ? rightsSteps(rights) : []),
  // Before the change of user, with which the right to refuse calls is lost.
  ...(seccomp ? [['seccomp', seccomp.name, chosenFilter(seccomp, rights).toString('hex')] satisfies Step] : []),
  ...(user && canSwitchUser() ? userSteps(user) : []),
  ['environment', ...variables(env)],
  ['run', ...command],
]

/**
 * An ordinary user has capabilities in a user namespace of its own alone, and none to drop elsewhere; a system without
 * these calls has none at all.
 */
function rightsSteps({ capabilities, noNewPrivileges }: ProcessRights): Step[] {
  if (systemCalls().length === 0) return []
  const numbers = capabilities.map((name) => String(capabilityNames.indexOf(name)))
  return [['capabilities', ...numbers], ...(noNewPrivileges ? [['noNewPrivileges'] satisfies Step] : [])]
}

const words = (steps: Step[]): string[] => steps.flatMap(([name, ...words]) => [name, String(words.length), ...words])

const variables = (env: Record<string, string>): string[] =>
  Object.entries(env).map(([name, value]) => `${name}=${value}`)
