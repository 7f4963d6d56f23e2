import { release } from 'node:os'
import { textOf } from '../../../../shared/files/readable.ts'
import { systemCalls } from '../shim/system-calls.ts'

/** Counts the users that a pod gets for itself, as upstream's kubelet has it. */
export const USERS = 65_536

let rows: number[][] | undefined

/** Each row has the first of some users here, its number outside, and how many they are. */
function mapped(): number[][] {
  rows ??= textOf('/proc/self/uid_map')
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number))
  return rows
}

/** Returns false if the kubelet is nearly alone in its namespace of users: then it cannot become another. */
export const hasUsers = (): boolean => mapped().some(([, , count = 0]) => count >= 65_536)

/** Returns true outside of user namespaces: within one the kernel refuses to make devices. */
export const mayMakeDevices = (): boolean => mapped().some(([, , count]) => count === 0xffffffff)

/** Linux shows files as those of other users from 6.3 on for all file systems that volumes are in. */
export function canHaveUsers(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return (major > 6 || (major === 6 && minor >= 3)) && systemCalls().length > 0 && mayMakeDevices()
}
