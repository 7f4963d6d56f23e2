import type { Container, Pod } from '../../shared/api/types.ts'
import type { RuntimeCapabilities, SeccompChoice, WantedUser } from '../runtime/container-runtime.ts'
import type { RefusedPort } from '../runtime/network/node-network.ts'

/** Names something that a container asks for and this node cannot give. */
export interface NotApplied {
  /** The reason of its event; absent where the labels of the node say it already, and only `--strict` refuses it. */
  event?: string
  message: string
}

export interface WantedRights {
  pod: Pod
  container: Container
  /** The container has the files of an image. */
  ofImage: boolean
  /** Lists the host ports of the pod that this machine does not open. */
  refusedPorts?: readonly RefusedPort[]
  user?: WantedUser
  seccomp?: SeccompChoice
}

/** Lists what a container asks for and does not get on a node with these capabilities. */
export const notApplied = (wanted: WantedRights, node: RuntimeCapabilities): NotApplied[] =>
  checks.flatMap((check) => check(wanted, node) ?? [])

type Check = (wanted: WantedRights, node: RuntimeCapabilities) => NotApplied | NotApplied[] | undefined

const seccompCheck: Check = ({ seccomp, container }, node) => {
  if (!seccomp || node.seccomp === 'always') return undefined
  if (node.seccomp && container.securityContext?.allowPrivilegeEscalation === false) return undefined
  const but = node.seccomp ? ' without allowPrivilegeEscalation: false' : ''
  const why = `this node can refuse no system calls${but}`
  return { event: 'SeccompNotApplied', message: `The seccomp profile ${seccomp.name} is not applied: ${why}` }
}

const userCheck: Check = ({ user }, { users }) => {
  if (!user || users) return undefined
  const { uid, gid, groups } = user
  const names = [
    ...(uid === undefined ? [] : [`user ${uid}`]),
    ...(gid === undefined ? [] : [`group ${gid}`]),
    ...(groups.length > 0 ? [`groups ${groups.join(', ')}`] : []),
  ]
  if (names.length === 0) return undefined
  const message = `${names.join(', ')} not applied: the kubelet is an ordinary user without further users`
  return { event: 'UserNotApplied', message }
}

const hostUsersCheck: Check = ({ pod, ofImage }, { ownUsers }) => {
  if (pod.spec.hostUsers !== false || (ownUsers && ofImage)) return undefined
  const why = ownUsers ? 'programs of this machine keep its users' : 'this node gives containers no users of their own'
  return { event: 'HostUsersNotApplied', message: `hostUsers: false is not applied: ${why}` }
}

const privilegedCheck: Check = ({ container }, { users }) =>
  container.securityContext?.privileged && !users
    ? { message: 'privileged: true is not applied: the kubelet is an ordinary user' }
    : undefined

const readOnlyCheck: Check = ({ container, ofImage }, { files }) =>
  container.securityContext?.readOnlyRootFilesystem && files !== 'own' && !ofImage
    ? {
        event: 'ReadOnlyRootNotApplied',
        message: 'readOnlyRootFilesystem: true is not applied: containers have no files of their own here',
      }
    : undefined

const limitsCheck: Check = ({ container }, { limits = [] }) => {
  const missing = (['cpu', 'memory'] as const).filter(
    (name) => container.resources?.limits?.[name] !== undefined && !limits.includes(name),
  )
  if (missing.length === 0) return undefined
  return { message: `limits of ${missing.join(' and ')} are not applied: see --limits of the kubelet` }
}

const hostPortCheck: Check = ({ container: { ports = [] }, refusedPorts = [] }) =>
  refusedPorts
    .filter((refused) =>
      ports.some(({ hostPort, protocol = 'TCP' }) => hostPort === refused.port && protocol === refused.protocol),
    )
    .map(({ why }) => ({ event: 'HostPortNotApplied', message: why }))

const checks: readonly Check[] = [
  seccompCheck,
  userCheck,
  hostUsersCheck,
  privilegedCheck,
  readOnlyCheck,
  limitsCheck,
  hostPortCheck,
]
