import { readFileSync } from 'node:fs'

let rows: number[][] | undefined

/** Each row has the first of some users here, its number outside, and how many they are. */
function mapped(): number[][] {
  try {
    rows ??= readFileSync('/proc/self/uid_map', 'utf8')
      .trim()
      .split('\n')
      .map((row) => row.trim().split(/\s+/).map(Number))
  } catch {
    rows = []
  }
  return rows
}

/** Returns false if the kubelet is nearly alone in its namespace of users: then it cannot become another. */
export const hasUsers = (): boolean => mapped().some(([, , count = 0]) => count >= 65_536)

/** Returns true outside of user namespaces: within one the kernel refuses to make devices. */
export const mayMakeDevices = (): boolean => mapped().some(([, , count]) => count === 0xffffffff)
