import type { MachineKind } from './machine-kind.ts'

/** Names what containers can have on a machine; each level has all that stands before it. */
export type Level = 'programs' | 'processes' | 'files' | 'networks'

const settings = {
  apparmor: 'kernel.apparmor_restrict_unprivileged_userns=0',
  clone: 'kernel.unprivileged_userns_clone=1',
  limit: 'user.max_user_namespaces=10000',
} as const

const subordinates =
  'unshare --map-root-user --map-auto --mount --pid --fork --mount-proc bash, and start kubestage in that shell'

/** Says how to get the level after the one that this machine has, or undefined where there is none. */
export function nextLevel(level: Level, machine: MachineKind): string | undefined {
  if (level === 'networks') return undefined
  const { platform, wsl, inContainer, isRoot, noUsers, hasSubordinates } = machine
  if (platform === 'darwin') return 'macOS has no namespaces: use a virtual machine with Linux, or docker-compose up'
  if (platform !== 'linux') return `${platform} has no namespaces: use WSL 2, or docker-compose up`
  if (wsl === 1) return 'WSL 1 has no namespaces: wsl --set-version DISTRIBUTION 2'
  const isRefused = inContainer && level === 'programs'
  if (isRefused && isRoot) return 'the container engine refuses namespaces: run this container with --privileged'
  if (isRefused)
    return 'the container engine refuses namespaces: run this container with --privileged, or as root of it'
  if (isRoot) return 'namespaces need a kernel with overlayfs and network namespaces, and CAP_SYS_ADMIN'
  if (noUsers && level === 'programs') return `as root: sysctl ${settings[noUsers]}; or try sudo`
  const sudo = level === 'processes' ? 'files of its own need root and overlayfs: try sudo' : 'try sudo'
  return hasSubordinates ? `${sudo}, or ${subordinates}` : sudo
}

/** Says how an ordinary user gets what root has, where anything is missing. */
export function missingUsers({ platform, hasUsers, hasSubordinates }: MachineKind): string | undefined {
  if (platform !== 'linux' || hasUsers) return undefined
  if (hasSubordinates) return `programs that change their user need more users: ${subordinates}`
  return 'programs that change their user need more users: as root usermod --add-subuids 200000-265535 --add-subgids 200000-265535 USER'
}

/** Says which ports of the machine a pod cannot have, and how it gets them. */
export function missingPorts({ platform, isRoot, firstPort }: MachineKind): string | undefined {
  if (platform !== 'linux' || isRoot || firstPort <= 80) return undefined
  return `as root: sysctl net.ipv4.ip_unprivileged_port_start=80`
}
