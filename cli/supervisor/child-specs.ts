import { extname, join } from 'node:path'
import { startShim } from '../../kubelet/runtime/process/shim.ts'
import type { ChildSpec } from './child.ts'

/** `.ts` in a checkout, `.js` where it was built. */
const extension = extname(import.meta.filename)
const kubeletMain = join(import.meta.dirname, '..', '..', 'kubelet', `main${extension}`)

/** A pod's start leaves garbage that lives as long as the start takes: what is collected sooner is copied in vain. At rest it is given back. */
const nursery = ['--max-semi-space-size=16']

export function kubeletSpec(configFile: string, logFile: string): ChildSpec {
  return {
    command: process.execPath,
    args: [...nursery, kubeletMain, '--config', configFile, '--supervised'],
    logFile,
  }
}

export function shimSpec(rootDir: string, logFile: string): ChildSpec {
  return { ...startShim({ rootDir }), logFile }
}
