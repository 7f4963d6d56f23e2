import { pipeline, Transform, Writable } from 'node:stream'
import type { ProcessStreams } from '../../container-runtime.ts'
import { descendantsOf } from '../proc-files.ts'
import { sendSignal } from '../signals.ts'

/** Receives the effects of what a client types on its terminal. */
export interface Typing {
  /** Gets bytes for the program. */
  input(bytes: Buffer): void
  /** Gets text for the screen. */
  echo(text: string | Buffer): void
  interrupt(): void
  endOfInput(): void
}

const enter = ['\r', '\n'].map(code)
const erase = ['\b', '\x7f'].map(code)
const eraseLine = code('\x15')
const interruption = code('\x03')
const endOfInput = code('\x04')

/**
 * A terminal's line discipline, as far as typing commands needs it: what is typed is shown, can be taken back, and goes
 * as lines.
 */
export function createTypist(typing: Typing): (keys: Buffer) => void {
  let line: number[] = []
  const send = (...more: number[]): void => {
    typing.input(Buffer.from([...line, ...more]))
    line = []
  }
  /** A character may be several bytes. */
  const takeBack = (): void => {
    if (line.length === 0) return
    while (isContinuation(line.at(-1)!)) line.pop()
    line.pop()
    typing.echo('\b \b')
  }
  return (keys) => {
    for (const key of keys) {
      if (enter.includes(key)) {
        typing.echo('\r\n')
        send(code('\n'))
      } else if (erase.includes(key)) takeBack()
      else if (key === eraseLine) while (line.length > 0) takeBack()
      else if (key === interruption) {
        line = []
        typing.echo('^C\r\n')
        typing.interrupt()
      } else if (key === endOfInput) {
        if (line.length > 0) send()
        else typing.endOfInput()
      } else {
        line.push(key)
        typing.echo(Buffer.of(key))
      }
    }
  }
}

/**
 * A process without a terminal, for a client who sits at one: its keys become lines, and lines of output begin on the
 * left.
 */
export function throughTypist(
  { stdin, stdout, exitCode }: ProcessStreams,
  on: Pick<Typing, 'interrupt' | 'endOfInput'>,
): ProcessStreams {
  const screen = new Transform({
    transform: (chunk: Buffer, _encoding, done) =>
      done(null, Buffer.from(chunk.toString('latin1').replace(/\n/g, '\r\n'), 'latin1')),
  })
  pipeline(stdout, screen, () => {})
  if (!stdin) return { stdout: screen, exitCode }
  const type = createTypist({
    ...on,
    input: (bytes) => void (stdin.writable && stdin.write(bytes)),
    echo: (text) => void (screen.writable && screen.push(text)),
  })
  const keyboard = new Writable({
    write(keys: Buffer, _encoding, done) {
      type(keys)
      done()
    },
    final(done) {
      stdin.end()
      done()
    },
    destroy(error, done) {
      stdin.destroy()
      done(error)
    },
  })
  return { stdin: keyboard, stdout: screen, exitCode }
}

/** Sends SIGINT to the descendants of a program. A program without descendants gets the signal itself. */
export function interrupt(pid: number): void {
  const below = descendantsOf(pid)
  for (const each of below.length > 0 ? below : [pid]) sendSignal(each, 'SIGINT')
}

function code(character: string): number {
  return character.charCodeAt(0)
}
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80
