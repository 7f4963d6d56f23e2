import { readFileSync } from 'node:fs'
import { type ImageRoot, StartError, type WantedUser } from '../../container-runtime.ts'
import { placeInRoot } from '../../place-in-root.ts'
import type { ProgramUser } from './program-user.ts'

/**
 * Returns the user of a container with the files of an image: the pod's, or the image's; groups and home are those of
 * the image's /etc/passwd and /etc/group. Throws a {@link StartError} in containerd's words for a user that the image
 * does not know.
 */
export function imageUser(root: ImageRoot, wanted: WantedUser | undefined): ProgramUser {
  const { user: ofImage = '' } = root
  const { users, groups } = accountsOf(root)
  const [name = '', groupName = ''] = (wanted?.uid === undefined ? ofImage : String(wanted.uid)).split(':')
  const known = users.find(([login, , uid]) => name === login || uid === (name || '0'))
  const uid = known ? Number(known[2]) : numeric(name || '0')
  if (uid === undefined) throw new StartError(`unable to find user ${name}: no matching entries in passwd file`)
  const ofGroup = groups.find(([group, , gid]) => groupName !== '' && (groupName === group || gid === groupName))
  const groupOfName = groupName === '' ? Number(known?.[3] ?? 0) : ofGroup ? Number(ofGroup[2]) : numeric(groupName)
  if (groupOfName === undefined)
    throw new StartError(`unable to find group ${groupName}: no matching entries in group file`)
  const gid = wanted?.gid ?? groupOfName
  const login = known?.[0]
  const isMember = (logins: string): boolean => login !== undefined && logins.split(',').includes(login)
  const member = wanted?.onlyThese ? [] : groups.filter(([, , , logins = '']) => isMember(logins))
  const further = member.map(([, , group]) => Number(group))
  return { uid, gid, groups: [...new Set([gid, ...further, ...(wanted?.groups ?? [])])], home: known?.[5] || '/' }
}

/** An image is not changed: its files are read for its first container. */
const known = new WeakMap<ImageRoot, Accounts>()

/** The lines of an image's /etc/passwd and /etc/group, each in its fields. */
interface Accounts {
  users: string[][]
  groups: string[][]
}

function accountsOf(root: ImageRoot): Accounts {
  const accounts = known.get(root) ?? {
    users: fieldsOf(root.folder, '/etc/passwd'),
    groups: fieldsOf(root.folder, '/etc/group'),
  }
  known.set(root, accounts)
  return accounts
}

const numeric = (text: string): number | undefined => (/^\d{1,10}$/.test(text) ? Number(text) : undefined)

function fieldsOf(folder: string, file: string): string[][] {
  try {
    const text = readFileSync(
      placeInRoot(file, (path) => folder + path),
      'utf8',
    )
    return text.split('\n').map((line) => line.split(':'))
  } catch {
    return []
  }
}
