import { extname, join } from 'node:path'
import { startShim } from '../../kubelet/runtime/process/shim.ts'
import type { ChildSpec } from './child.ts'

/** `.ts` in a checkout, `.js` where it was built. */
const extension = extname(import.meta.filename)
const kubeletMain = join(import.meta.dirname, '..', '..', 'kubelet', `main${extension}`)

export function kubeletSpec(configFile: string, logFile: string): ChildSpec {
  return { command: process.execPath, args: [kubeletMain, '--config', configFile, '--supervised'], logFile }
}

export function shimSpec(rootDir: string, logFile: string): ChildSpec {
  return { ...startShim({ rootDir }), logFile }
}
