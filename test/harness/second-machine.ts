import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { cli } from './cluster.ts'
import { scratchFolder } from './scratch.ts'
import { until } from './until.ts'

export interface TypedCommand {
  pid: number
  output(): string
  printed(text: string): Promise<void>
  /** The exit code, or the signal's name. */
  ended: Promise<number | NodeJS.Signals>
}

/** What a second machine has of its own: a home, a folder to work in, sessions. Commands are typed there as text. */
export class SecondMachine {
  readonly folder: string
  readonly #t: Test
  /** `ip netns exec NAME`, or nothing. */
  readonly #before: string

  constructor(t: Test, { before = '' }: { before?: string } = {}) {
    this.#t = t
    this.#before = before
    this.folder = scratchFolder(t, 'machine')
    mkdirSync(join(this.folder, 'bin'))
    symlinkSync(cli, join(this.folder, 'bin', 'kubestage'))
  }

  /** Runs a line of a shell in a session of its own; a test that ends takes it along. */
  type(line: string, { isolated = true }: { isolated?: boolean } = {}): TypedCommand {
    const { PATH } = process.env
    const env = {
      PATH: `${join(this.folder, 'bin')}:${PATH}`,
      HOME: this.folder,
      NO_COLOR: '1',
      KUBESTAGE_LAUNCHER_FD: '3',
    }
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe'] as const
    const before = isolated ? this.#before : ''
    const child = spawn('sh', ['-c', `exec ${before} ${line}`], {
      cwd: this.folder,
      env,
      stdio: [...stdio],
      detached: true,
    })
    let text = ''
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
    let isOver = false
    const ended = once(child, 'close').then(([code, signal]) => {
      isOver = true
      return code ?? signal
    })
    this.#t.teardown(async () => {
      if (!isOver) child.kill('SIGTERM')
      await ended
    })
    return {
      pid: child.pid ?? 0,
      output: () => text,
      ended,
      async printed(wanted) {
        await until(() => text.includes(wanted) || isOver, { what: `"${wanted}" of ${line}` })
        if (!text.includes(wanted)) throw new Error(`${line} ended without printing "${wanted}":\n${text}`)
      },
    }
  }

  /** To its end. */
  async run(line: string): Promise<{ code: number | NodeJS.Signals; output: string }> {
    const command = this.type(line)
    return { code: await command.ended, output: command.output() }
  }
}
