/** Lines at the kubelet's end of the pipe from the shim: listeners hear of what can be read, and of nothing else. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectShim } from '../../../kubelet/runtime/process/shim/connection.ts'
import { decodeWords, encodeWords } from '../../../kubelet/runtime/process/shim/shim-words.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'

/** Identifies the last line of an attempt. */
const last = 'last'
const words = [
  'started',
  'failed',
  'exited',
  'known',
  'greeting',
  'network',
  'c1',
  'c2',
  '-',
  '0',
  '12',
  '-1',
  '1e9',
  'x',
  '',
  '%',
  '%09',
  '%2',
  'é',
]

function anyLines(random: Random): Buffer {
  const lines = random.times(12, () => encodeWords(random.times(7, () => random.pick(words))))
  const bytes = Buffer.from(lines.join(''))
  return random.chance(0.5) ? bytes : random.mutated(bytes)
}

export const shimLines: Fuzzer = {
  name: 'lines of the shim',
  attempts: 40,
  start() {
    const rootDir = mkdtempSync(join(tmpdir(), 'kubestage-fuzz-'))
    const runtime = join(rootDir, 'runtime')
    mkdirSync(runtime)
    for (const name of ['requests', 'events']) execFileSync('mkfifo', [join(runtime, name)])
    return {
      async attempt(random) {
        const said = random.times(6, () => random.pick(words))
        if (decodeWords(encodeWords(said).slice(0, -1)).join('\n') !== (said.length === 0 ? '' : said.join('\n')))
          throw new Error(`words do not come back: ${JSON.stringify(said)}`)
        const requests = openSync(join(runtime, 'requests'), constants.O_RDWR | constants.O_NONBLOCK)
        const events = openSync(join(runtime, 'events'), constants.O_RDWR | constants.O_NONBLOCK)
        const wrong: string[] = []
        const check = (...numbers: number[]) => {
          if (!numbers.every(Number.isFinite)) wrong.push(`not a number: ${numbers}`)
        }
        const allRead = Promise.withResolvers<void>()
        const listener = {
          started: (_id: string, { pid, atMs }: { pid: number; atMs: number }) => check(pid, atMs),
          failed: (id: string, { atMs }: { atMs: number }) => (id === last ? allRead.resolve() : check(atMs)),
          exited: (_id: string, { atMs, code }: { atMs: number; code: number }) => check(atMs, code),
          lost: () => {},
        }
        const connecting = connectShim({ rootDir, clock: realClock, listener })
        const heard = new Socket({ fd: requests, readable: true, writable: false })
        const [hello] = await new Promise<string[][]>((resolve) => {
          let text = ''
          heard.on('data', (part) => {
            text += part
            const lines = text.split('\n').filter(Boolean).map(decodeWords)
            if (lines.length > 0 && text.endsWith('\n')) resolve(lines)
          })
        })
        writeSync(events, encodeWords(['greeting', hello?.[1] ?? '']))
        writeSync(events, encodeWords(['known']))
        const { connection } = await connecting
        writeSync(events, anyLines(random))
        writeSync(events, `\n${encodeWords(['failed', last, '0', 'why'])}`)
        await allRead.promise
        await connection.close()
        heard.destroy()
        closeSync(events)
        if (wrong.length > 0) throw new Error(wrong.join())
      },
      end: () => rmSync(rootDir, { recursive: true, force: true }),
    }
  },
}
