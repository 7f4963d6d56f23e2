import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../../shared/clock/clock.ts'

export interface ChildSpec {
  command: string
  args: readonly string[]
  /** Its stdout and stderr are appended here. */
  logFile: string
}

/** How a process ended, in words: `exit code 1`, `SIGKILL`, `cannot be started: …`. */
export type Ending = string

/**
 * A process of ours. Its stdin is a pipe that nobody else holds: when we end by any means it sees the end of it, and ends too.
 * It has its own session, so that a terminal's Ctrl-C reaches us alone and the order of ending is ours.
 */
export class Child {
  readonly ended: Promise<Ending>
  readonly #process: ChildProcess
  #isEnded = false

  constructor({ command, args, logFile }: ChildSpec) {
    const log = openSync(logFile, 'a', 0o600)
    this.#process = spawn(command, args, { stdio: ['pipe', log, log], detached: true })
    closeSync(log)
    this.#process.stdin?.on('error', () => {}) // it has ended; `ended` tells
    this.ended = new Promise<Ending>((resolve) => {
      this.#process.once('error', (error) => resolve(`cannot be started: ${error.message}`))
      this.#process.once('exit', (code, signal) => resolve(code === null ? `${signal}` : `exit code ${code}`))
    }).finally(() => {
      this.#isEnded = true
    })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Tells a kubelet that its configuration is there. */
  begin(): void {
    this.#process.stdin?.write('begin\n')
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isEnded) this.#process.kill(signal)
  }

  /** Closes its stdin: all the shim needs to clean up and go. */
  release(): void {
    this.#process.stdin?.destroy()
  }

  /** At once; resolves when it has ended. */
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
