import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Started, Usage } from './server.ts'

/** A server that uses less than this per round is at rest. */
const restMs = 15
const roundMs = 60
const mostRounds = 500

/** The process of a server, from outside. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly started: Started

  private constructor(child: ChildProcess, started: Started) {
    this.#child = child
    this.started = started
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<ServerProcess> {
    const child = fork(fileURLToPath(new URL('./server.ts', import.meta.url)), {
      execArgv: ['--expose-gc', '--max-semi-space-size=8'],
    })
    t.teardown(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    })
    const [started] = (await once(child, 'message')) as [Started]
    return new ServerProcess(child, started)
  }

  get pid(): number {
    return this.#child.pid!
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What it has used by now; with 'collect' after it has thrown away what nothing refers to. */
  async ask(question: 'usage' | 'collect'): Promise<Usage> {
    const answer = Promise.withResolvers<Usage>()
    const ended = (code: number | null, signal: string | null): void =>
      answer.reject(new Error(`the server has ended: ${signal ?? code}`))
    this.#child.once('message', answer.resolve).once('exit', ended)
    if (this.isAlive) this.#child.send(question)
    else ended(this.#child.exitCode, this.#child.signalCode)
    return answer.promise.finally(() => this.#child.off('message', answer.resolve).off('exit', ended))
  }

  /** Resolves when it works no more for what was sent. */
  async rest(): Promise<Usage> {
    let before = await this.ask('usage')
    for (let round = 0; round < mostRounds; round++) {
      await sleep(roundMs)
      const now = await this.ask('usage')
      if (now.cpuMs - before.cpuMs < restMs) return now
      before = now
    }
    throw new Error(`the server is still at work after ${(mostRounds * roundMs) / 1000} s`)
  }
}

const tickMs = 10

/** CPU time of the thread that serves requests, in milliseconds, in steps of ten; Linux keeps it in /proc. */
export function servingThreadMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

export const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
