import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Block } from './doc-page.ts'
import { until } from './until.ts'

export interface TerminalOptions {
  /** Where its commands are typed. */
  cwd: string
  env: NodeJS.ProcessEnv
  /** Where blocks may be kept as files. */
  scratch: string
  /** Typed before anything else. */
  prelude?: string
  /** What stands before the shell's own command line. */
  enter?: readonly string[]
}

/** A terminal with a bash in it, into which a page's blocks are typed. */
export interface Terminal {
  /** Types the block, and waits for its end. Rejects with line, command and output when a command fails that should not. */
  run(block: Block): Promise<void>
  /** Types the block, which goes on by itself. */
  begin(block: Block): void
  /** What was printed since the last block began. */
  output(): string
  /** Types Ctrl-C; resolves to the shell's exit code. Whatever runs in the background is ended as well. */
  close(): Promise<number>
}

const DONE = 'the block is done:'
const done = new RegExp(`^${DONE} (\\d+)\\n`, 'm')
const blockTimeoutMs = 240_000

export function openTerminal({ cwd, env, scratch, prelude = '', enter = [] }: TerminalOptions): Terminal {
  const [file = '', ...args] = [...enter, 'bash', '--noprofile', '--norc', '-s']
  const shell = spawn(file, args, { cwd, env, detached: true, stdio: 'pipe' })
  let printed = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  }
  let isOver = false
  const ended = once(shell, 'exit').then(([code]) => {
    isOver = true
    return code as number
  })
  const type = (text: string): void => {
    shell.stdin.write(`${text}\n`)
  }
  shell.stdin.on('error', () => {})
  type(`exec 2>&1; trap : INT; set -E\n${prelude}`)

  const begin = (block: Block): void => {
    printed = ''
    // What a page shows as its failure (exit=1) must fail; any other failure ends the shell.
    const isMeantToFail = block.marks.exit !== undefined
    type(
      isMeantToFail
        ? 'set +e; trap - ERR'
        : `set -e; trap 'echo "$BASH_SOURCE:$LINENO: $BASH_COMMAND: exit code $?"' ERR`,
    )
    type(`. '${fileOf(block, scratch)}' </dev/null; echo "${DONE} $?"`)
  }
  return {
    begin,
    output: () => printed.replace(done, ''),
    async run(block) {
      begin(block)
      const wanted = block.marks.exit ?? '0'
      await until(() => isOver || done.test(printed), { what: block.at, timeoutMs: blockTimeoutMs }).catch(
        (error: Error) => {
          throw new Error(`${error.message}:\n${printed}`)
        },
      )
      const code = done.exec(printed)?.[1]
      if (code !== wanted) throw new Error(`${block.at}: not exit code ${wanted}:\n${printed}`)
    },
    async close() {
      if (!isOver) signalGroup(shell, 'SIGINT')
      shell.stdin.end()
      const code = await ended
      signalGroup(shell, 'SIGTERM')
      return code
    },
  }
}

/** The block as a file in which its lines have the numbers that they have in the page; on the line of its fence is what goes with it. */
function fileOf({ at, text, marks }: Block, scratch: string): string {
  const [page = '', line] = at.split(':')
  const file = join(scratch, page)
  const before = marks.with ? `{ ${marks.with}; } >'${file}.log' 2>&1` : ''
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${'\n'.repeat(Number(line) - 1)}${before}\n${text}\n`)
  return file
}

/** As a terminal does: all of its processes are asked. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(pid ?? 0), signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
