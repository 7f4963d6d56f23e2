import os from 'node:os'
import { textOf } from '../../../../shared/files/readable.ts'
import type { RuntimeCapabilities, WantedUser } from '../../container-runtime.ts'
import { ordinaryIdentity } from '../view/identity.ts'
import type { Step } from '../view/steps.ts'
import { canHaveUsers, hasUsers } from '../view/users-here.ts'

/** Says which user a container's processes run as, and which home folder they have. */
export interface ProgramUser {
  uid: number
  gid: number
  /** All groups; the user's own is the first. */
  groups: number[]
  home: string
}

/**
 * The wanted user with its group and its home from /etc/passwd, else group 0 and `/`, as container runtimes do.
 * Undefined: as we run ourselves.
 */
export function programUser(wanted: WantedUser | undefined): ProgramUser | undefined {
  if (!wanted || !hasUsers()) return undefined
  const uid = wanted.uid ?? 0
  const [, , , group, , home] =
    textOf('/etc/passwd')
      .split('\n')
      .map((line) => line.split(':'))
      .find((fields) => fields[2] === String(uid)) ?? []
  const gid = wanted.gid ?? Number(group ?? 0)
  return { uid, gid, groups: [...new Set([gid, ...wanted.groups])], home: home ?? (uid === 0 ? os.homedir() : '/') }
}

/** Returns the step with which `container.pl` switches to the user, the last step before it executes the program. */
export const userSteps = ({ uid, groups }: ProgramUser): Step[] => [['user', String(uid), ...groups.map(String)]]

/** True if processes can be another user's: not where the kubelet is an ordinary user, or alone in its namespace. */
export const canSwitchUser = (): boolean => !ordinaryIdentity() && hasUsers()

/** An ordinary user is alone in each container's namespace of users: root there is not root of the machine. */
export const usersLevel = ({ isolation }: RuntimeCapabilities): Pick<RuntimeCapabilities, 'ownUsers' | 'users'> => ({
  ...(canSwitchUser() && { users: true }),
  ...(isolation === 'pod' && (ordinaryIdentity() || canHaveUsers()) && { ownUsers: true }),
})
