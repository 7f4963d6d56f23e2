import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../../shared/clock/clock.ts'
import { whyRefused } from '../../shared/config/system-errors.ts'
import type { PodsFate } from './pods-fate.ts'

export interface ChildSpec {
  command: string
  args: readonly string[]
  /** Names the file that its stdout and stderr are appended to. */
  logFile: string
  /** Holds an open descriptor of a pipe that another process holds. By default this process holds the pipe. */
  stdin?: number | 'pipe'
  /** Open descriptor that it has as its descriptor 3. */
  passed?: number
}

/** Says how a process ended: `exit code 1`, `SIGKILL`, `cannot be started: …`. */
export type Ending = string

/** A process that is started again when it ends. */
export interface Supervised {
  readonly pid: number | undefined
  readonly ended: Promise<Ending>
  signal(signal: NodeJS.Signals): void
  release(): void
  endWithin(clock: Clock, timeoutMs: number): Promise<void>
}

/**
 * Runs a child process. Only this process holds its stdin: when this process ends by any means, the child reads
 * end-of-file and ends too. The child has its own session, so that a terminal's Ctrl-C reaches only this process, which
 * decides in what order processes end.
 */
export class Child implements Supervised {
  readonly ended: Promise<Ending>
  readonly #process: ChildProcess
  #isEnded = false

  constructor({ command, args, logFile, stdin = 'pipe', passed }: ChildSpec) {
    const log = openSync(logFile, 'a', 0o600)
    const stdio: StdioOptions = [stdin, log, log, ...(passed === undefined ? [] : [passed])]
    this.#process = spawn(command, args, { stdio, detached: true })
    closeSync(log)
    this.#process.stdin?.on('error', () => {}) // it has ended; `ended` tells
    this.ended = new Promise<Ending>((resolve) => {
      this.#process.once('error', (error) => resolve(`cannot be started: ${whyRefused(error)}`))
      this.#process.once('exit', (code, signal) => resolve(code === null ? `${signal}` : `exit code ${code}`))
    }).finally(() => {
      this.#isEnded = true
    })
  }

  /** Returns the process ID while the process runs. */
  get pid(): number | undefined {
    return this.#isEnded ? undefined : this.#process.pid
  }

  /** Tells a kubelet that its configuration is there, and what becomes of its pods when we end by ourselves. */
  begin(fate: PodsFate['pods'] = 'killed'): void {
    this.#process.stdin?.write(`begin: pods are ${fate}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isEnded) this.#process.kill(signal)
  }

  /** Lets the shim clean up and exit: closes its stdin, or sends SIGTERM if another process holds the pipe. */
  release(): void {
    if (this.#process.stdin) this.#process.stdin.destroy()
    else this.signal('SIGTERM')
  }

  /** Kills the process at once; resolves when it has ended. */
  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended
  }

  /** Resolves when it has ended; by SIGKILL when it needs longer than `timeoutMs`. */
  async endWithin(clock: Clock, timeoutMs: number): Promise<void> {
    const timer = clock.setTimer(timeoutMs, () => this.signal('SIGKILL'))
    await this.ended
    timer.cancel()
  }
}
