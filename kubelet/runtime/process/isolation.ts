import { execFile } from 'node:child_process'
import type { RuntimeCapabilities } from '../container-runtime.ts'
import { newNamespaces } from './launch-script.ts'

const [unshare = '', ...args] = newNamespaces

/** What this machine lets us do: namespaces need Linux, util-linux and, mostly, root. Tried, not guessed. */
export function possibleIsolation(): Promise<RuntimeCapabilities['isolation']> {
  return new Promise((resolve) => {
    execFile(unshare, [...args, '/bin/true'], { env: {} }, (error) => resolve(error ? 'none' : 'pod'))
  })
}
