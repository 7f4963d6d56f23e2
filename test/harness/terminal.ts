import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Test } from 'tap'
import { until } from './until.ts'

/** A program on a terminal of its own, and what it has shown there. */
export interface Terminal {
  type(keys: string): void
  resize(columns: number, rows: number): void
  /** Waits until something has been shown since the last wait. */
  shows(what: string | RegExp): Promise<void>
  /** Ends the program as the closed window of its terminal does. */
  leave(): void
  ended: Promise<number>
}

/** Sequences by which a shell turns it on and off around each line. */
const bracketedPaste = { on: '\x1b[?2004h', off: '\x1b[?2004l\r' }

/** Starts a program on a terminal of 80 columns and 24 rows. */
export function onTerminal(t: Test, [program = '', ...words]: string[], env: NodeJS.ProcessEnv): Terminal {
  const script = join(import.meta.dirname, 'on-terminal.pl')
  const child = spawn('perl', [script, program, ...words], { env, stdio: ['pipe', 'pipe', 'inherit', 'pipe'] })
  const [keys, screen, , sizes] = child.stdio
  let shown = ''
  screen?.on('data', (data: Buffer) => {
    shown = (shown + data).replaceAll(bracketedPaste.on, '').replaceAll(bracketedPaste.off, '')
  })
  const { promise: ended, resolve } = Promise.withResolvers<number>()
  child.once('exit', (code) => resolve(code ?? -1))
  const resize = (columns: number, rows: number) => void (sizes as Writable).write(`${columns} ${rows}\n`)
  resize(80, 24)
  t.teardown(() => void child.kill('SIGKILL'))
  return {
    type: (typed) => void (keys as Writable).write(typed),
    resize,
    async shows(what) {
      const find = () => (typeof what === 'string' ? shown.indexOf(what) + 1 : shown.search(what) + 1)
      try {
        await until(find, { what: String(what) })
      } catch (error) {
        throw new Error(`${(error as Error).message} in ${JSON.stringify(shown)}`)
      }
      const at = find() - 1
      shown = shown.slice(at + (typeof what === 'string' ? what.length : (shown.match(what)?.[0].length ?? 0)))
    },
    leave: () => void child.kill('SIGKILL'),
    ended,
  }
}
