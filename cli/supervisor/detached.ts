import { spawn } from 'node:child_process'

export interface Detached {
  pid: number | undefined
  hasEnded(): boolean
}

/** Runs this Node with these arguments in a session of its own, which outlives us and the terminal; its output goes to the open file. */
export function spawnDetached(args: readonly string[], log: number): Detached {
  const child = spawn(process.execPath, [...process.execArgv, ...args], { detached: true, stdio: ['ignore', log, log] })
  let ended = false
  for (const event of ['exit', 'error'] as const) {
    child.on(event, () => {
      ended = true
    })
  }
  child.unref()
  return { pid: child.pid, hasEnded: () => ended }
}
