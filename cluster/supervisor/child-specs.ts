import { getCompileCacheDir } from 'node:module'
import { extname, join } from 'node:path'
import { startShim } from '../../kubelet/runtime/process/shim/shim.ts'
import { packageRoot } from '../package.ts'
import type { StateDirectory } from '../state-directory.ts'
import type { ChildSpec } from './child.ts'
import { endsWithParent } from './ends-with-parent.ts'
import { killed, type PodsFate } from './pods-fate.ts'

/** `.ts` in a checkout, `.js` where it was built. */
const extension = extname(import.meta.filename)
const kubeletMain = join(import.meta.dirname, '..', '..', 'kubelet', `main${extension}`)

/**
 * A pod's start leaves garbage that lives as long as the start takes: an earlier collection would only copy it. At rest
 * the memory is given back.
 */
const nursery = ['--max-semi-space-size=16']

const stderr = 2

type Place = Pick<StateDirectory, 'kubelet' | 'logs'>

export const kubeletLog = ({ logs }: Place): string => join(logs, 'kubelet.log')

/** Process id of the kubelet that runs now, of a cluster with a guardian. */
export const kubeletPidFile = ({ kubelet }: Place): string => join(kubelet, 'kubelet.pid')

/** Names the file that the kubelet reads when it begins. */
export const kubeletConfigFile = ({ kubelet }: Place): string => join(kubelet, 'config.json')

/**
 * The `kubestage` command has told its children where compiled code is; a process that only uses the library has not.
 */
const compileCache = (): string[] =>
  getCompileCacheDir() === undefined ? ['--import', join(packageRoot, 'bin', 'keep-compiled.mjs')] : []

/**
 * Returns how to start a kubelet that loads its program and then waits for `Child.begin`, so that the server can start
 * meanwhile.
 */
export const kubeletSpec = (place: Place, fate: PodsFate = killed): ChildSpec => ({
  ...endsWithParent([
    process.execPath,
    ...[...nursery, ...compileCache(), kubeletMain, '--config', kubeletConfigFile(place), '--supervised'],
  ]),
  logFile: kubeletLog(place),
  ...(fate.pods === 'stopped' && { passed: stderr }),
  ...(fate.pods === 'kept' && { passed: fate.lifeLine }),
})

export const shimSpec = (place: Place, fate: PodsFate = killed): ChildSpec => ({
  ...startShim({ rootDir: place.kubelet, ...(fate.pods === 'stopped' && { graceMs: fate.graceMs }) }),
  logFile: kubeletLog(place),
  ...(fate.pods === 'kept' && { stdin: fate.lifeLine }),
})
