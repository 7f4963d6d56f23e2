import { extname, join } from 'node:path'
import { startShim } from '../../kubelet/runtime/process/shim.ts'
import type { ChildSpec } from './child.ts'

/** `.ts` in a checkout, `.js` where it was built. */
const extension = extname(import.meta.filename)
const kubeletMain = join(import.meta.dirname, '..', '..', 'kubelet', `main${extension}`)

/** Most of what a kubelet makes is soon garbage, and is collected early; a nursery of 1 MB costs four times the collections. */
const smallHeap = ['--max-semi-space-size=4']

export function kubeletSpec(configFile: string, logFile: string): ChildSpec {
  return {
    command: process.execPath,
    args: [...smallHeap, kubeletMain, '--config', configFile, '--supervised'],
    logFile,
  }
}

export function shimSpec(rootDir: string, logFile: string): ChildSpec {
  return { ...startShim({ rootDir }), logFile }
}
