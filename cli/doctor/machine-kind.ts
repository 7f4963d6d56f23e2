import { existsSync } from 'node:fs'
import { release } from 'node:os'
import { textOf } from '../../shared/files/readable.ts'

/** Holds the facts that decide which rights a machine gives, and how its user gets more of them. */
export interface MachineKind {
  platform: NodeJS.Platform
  /** The version of the Windows Subsystem for Linux that this is; absent elsewhere. */
  wsl?: 1 | 2
  /** This is within a container of a container engine. */
  inContainer: boolean
  /** The user is root of the machine, not of a namespace of users alone. */
  isRoot: boolean
  /** Processes can become other users: not those of an ordinary user, nor of one who is alone in a namespace. */
  hasUsers: boolean
  /** Names the setting by which the kernel gives an ordinary user no user namespaces. */
  noUsers?: 'apparmor' | 'clone' | 'limit'
  /** `/etc/subuid` gives the user further users. */
  hasSubordinates: boolean
  /** The first port that any user may open. */
  firstPort: number
}

export function machineKind(): MachineKind {
  const isUser0 = (process.getuid?.() ?? 0) === 0
  const users = mappedUsers()
  const kernel = release().toLowerCase()
  const wsl = kernel.includes('microsoft') ? (kernel.includes('wsl2') ? 2 : 1) : undefined
  return {
    platform: process.platform,
    ...(wsl && { wsl }),
    inContainer: ['/.dockerenv', '/run/.containerenv'].some((file) => existsSync(file)),
    isRoot: isUser0 && users === everyUser,
    hasUsers: isUser0 && users >= 65_536,
    noUsers: whyNoUsers(),
    hasSubordinates: textOf('/etc/subuid').trim() !== '',
    firstPort: Number(textOf('/proc/sys/net/ipv4/ip_unprivileged_port_start') || 1024),
  }
}

const everyUser = 0xffffffff

/** Counts the users of this namespace of users; where there are none, it is the machine's. */
function mappedUsers(): number {
  const rows = textOf('/proc/self/uid_map').trim()
  if (rows === '') return everyUser
  return Math.max(...rows.split('\n').map((row) => Number(row.trim().split(/\s+/)[2])))
}

function whyNoUsers(): MachineKind['noUsers'] {
  const setting = (name: string): string => textOf(`/proc/sys/${name}`).trim()
  if (setting('user/max_user_namespaces') === '0') return 'limit'
  if (setting('kernel/unprivileged_userns_clone') === '0') return 'clone'
  return setting('kernel/apparmor_restrict_unprivileged_userns') === '1' ? 'apparmor' : undefined
}
