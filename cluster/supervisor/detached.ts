import { spawn } from 'node:child_process'
import { whyRefused } from '../../shared/config/system-errors.ts'
import type { FirstWords } from './starter.ts'

export interface Detached {
  /** 0 when it could not be started. */
  pid: number
  /** Resolves to what it says when it is ready or gives up; to undefined when it ends without a word. */
  firstWords: Promise<FirstWords | undefined>
  /** Resolves to how it ended: `exit code 1`, `SIGKILL`. */
  ended: Promise<string>
  /** Asks it to end; resolves when it has. */
  end(): Promise<void>
}

/** Runs a program in a session of its own, which outlives us and the terminal; its output goes to the open file. */
export function spawnDetached([command = '', ...args]: readonly string[], log: number): Detached {
  const stdio = ['ignore', log, log, 'ipc'] as const
  const child = spawn(command, args, { detached: true, stdio: [...stdio] })
  const first = Promise.withResolvers<FirstWords | undefined>()
  child.once('message', (words) => first.resolve(words as FirstWords))
  const ended = Promise.withResolvers<string>()
  child.once('exit', (code, signal) => ended.resolve(code === null ? `${signal}` : `exit code ${code}`))
  child.once('error', (error) => ended.resolve(`cannot be started: ${whyRefused(error)}`))
  void ended.promise.then(() => first.resolve(undefined))
  child.unref()
  return {
    pid: child.pid ?? 0,
    firstWords: first.promise,
    ended: ended.promise,
    async end() {
      child.kill('SIGTERM')
      child.ref()
      await ended.promise
    },
  }
}
