import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import { toMicroTime } from '../../../shared/clock/timestamp.ts'

const newline = 0x0a
/** containerd's: a longer line is written in parts. */
const longestPart = 16 * 1024
/** The kubelet's containerLogMaxSize and containerLogMaxFiles. */
const largestFile = 10 * 1024 * 1024
const mostFiles = 5

/**
 * Frames output as CRI does: `<time> stdout F <line>`, P for a part of a line that goes on. One stream for both outputs,
 * in the order in which they were written. The file is there from the first line on: many containers never say a word.
 * Written at once and synchronously, so that who sees an exit sees all lines.
 */
export class ContainerLog {
  readonly #file: string
  readonly #clock: Clock
  #fd: number | undefined
  #size = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(file: string, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  write(data: Buffer): void {
    const parts: string[] = []
    const stamp = this.#stamp()
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, data]) : data
    let from = 0
    for (;;) {
      const end = all.indexOf(newline, from)
      const line = all.subarray(from, end === -1 ? undefined : end)
      if (end === -1 && line.length < longestPart) break
      const isPart = line.length > longestPart || end === -1
      const text = isPart ? line.subarray(0, longestPart) : line
      parts.push(`${stamp} stdout ${isPart ? 'P' : 'F'} ${text.toString('latin1')}\n`)
      from += text.length + (isPart ? 0 : 1)
    }
    this.#rest = Buffer.from(all.subarray(from))
    if (parts.length > 0) this.#append(parts.join(''))
  }

  /** The writer has ended: a last line without its newline is a line, too. */
  flush(): void {
    if (this.#rest.length === 0) return
    this.#append(`${this.#stamp()} stdout F ${this.#rest.toString('latin1')}\n`)
    this.#rest = Buffer.alloc(0)
  }

  close(): void {
    this.flush()
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #append(text: string): void {
    const bytes = Buffer.from(text, 'latin1')
    try {
      writeSync(this.#open(), bytes)
    } catch {
      return // A full disk costs the line, not the kubelet.
    }
    this.#size += bytes.length
    if (this.#size > largestFile) this.#rotate()
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o755 })
    const fd = openSync(this.#file, 'a', 0o640)
    this.#size = fstatSync(fd).size
    this.#fd = fd
    return fd
  }

  #rotate(): void {
    const older = (n: number) => `${this.#file}.${n}`
    rmSync(older(mostFiles - 1), { force: true })
    for (let n = mostFiles - 2; n > 0; n--) if (existsSync(older(n))) renameSync(older(n), older(n + 1))
    renameSync(this.#file, older(1))
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #stamp(): string {
    return toMicroTime(this.#clock.now()).replace('Z', '000Z')
  }
}

/** With its rotated predecessors. */
export function removeLog(file: string): void {
  const directory = path.dirname(file)
  if (!existsSync(directory)) return
  const name = path.basename(file)
  for (const entry of readdirSync(directory))
    if (entry === name || entry.startsWith(`${name}.`)) unlinkSync(path.join(directory, entry))
  if (readdirSync(directory).length === 0) rmSync(directory, { recursive: true, force: true })
}
