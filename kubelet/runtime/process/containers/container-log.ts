import { closeSync, fstatSync, mkdirSync, openSync, symlinkSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { toMicroTime } from '../../../../shared/clock/timestamp.ts'
import type { Link } from '../../../pod/folders.ts'
import { type LogLimits, rotateLog } from '../../log-files.ts'

const newline = 0x0a
/** containerd's: a longer line is written in parts. */
const longestPart = 16 * 1024
const usualLimits: LogLimits = { fileBytes: 10 * 1024 * 1024, files: 5 }

const nothing = Buffer.alloc(0)
/** Lines in the making, of all logs: each is done with before another begins. */
const framed = Buffer.allocUnsafe(128 * 1024)
const longestLine = longestPart + 64

interface ContainerLogOptions {
  clock: Clock
  limits?: LogLimits
  /** Names a link that is made with the file. */
  link?: Link
  onLimit?(limit: 'containerLogMaxSize' | 'containerLogMaxFiles'): void
}

/**
 * Frames output as CRI does: `<time> stdout F <line>`, P for a part of a line that goes on. One stream for both
 * outputs, in the order in which they were written. The file is there from the first line on: many containers never say
 * a word. Written at once and synchronously, so that who sees an exit sees all lines.
 */
export class ContainerLog {
  readonly #file: string
  readonly #clock: Clock
  readonly #limits: LogLimits
  readonly #onLimit: NonNullable<ContainerLogOptions['onLimit']>
  #link: Link | undefined
  #fd: number | undefined
  #size = 0
  #rest: Buffer = nothing

  constructor(file: string, { clock, limits = usualLimits, link, onLimit = () => {} }: ContainerLogOptions) {
    this.#file = file
    this.#link = link
    this.#limits = limits
    this.#onLimit = onLimit
    this.#clock = clock
  }

  write(data: Buffer): void {
    const [whole, part] = [this.#prefix('F'), this.#prefix('P')]
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, data]) : data
    let from = 0
    let size = 0
    for (;;) {
      const end = all.indexOf(newline, from)
      const length = (end === -1 ? all.length : end) - from
      if (end === -1 && length < longestPart) break
      const isPart = length > longestPart || end === -1
      const to = isPart ? from + longestPart : end
      if (size + longestLine > framed.length) size = this.#append(size)
      size += (isPart ? part : whole).copy(framed, size)
      size += all.copy(framed, size, from, to)
      framed[size++] = newline
      from = isPart ? to : to + 1
    }
    this.#rest = from < all.length ? Buffer.from(all.subarray(from)) : nothing
    this.#append(size)
  }

  /** The writer has ended. A last line without its newline is a part, as containerd has it: readers add no newline. */
  flush(): void {
    const rest = this.#rest
    if (rest.length === 0) return
    this.#rest = nothing
    let size = this.#prefix('P').copy(framed)
    size += rest.copy(framed, size)
    framed[size++] = newline
    this.#append(size)
  }

  close(): void {
    this.flush()
    this.#close()
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  /** Writes what stands framed, and returns how much of that is left: nothing. */
  #append(size: number): 0 {
    if (size === 0) return 0
    try {
      writeSync(this.#open(), framed, 0, size)
    } catch {
      return 0 // A full disk costs the lines, not the kubelet.
    }
    this.#size += size
    if (this.#size <= this.#limits.fileBytes) return 0
    try {
      this.#rotate()
    } catch {
      // The file was removed: the next line begins another.
    }
    this.#close()
    return 0
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o755 })
    const fd = openSync(this.#file, 'a', 0o640)
    this.#size = fstatSync(fd).size
    this.#fd = fd
    this.#makeLink()
    return fd
  }

  /**
   * Creates the link once. A failure means that it exists from an earlier kubelet, or only that collectors do not find
   * this log.
   */
  #makeLink(): void {
    const link = this.#link
    this.#link = undefined
    try {
      if (link) symlinkSync(link.target, link.path)
    } catch {}
  }

  #rotate(): void {
    const { files } = this.#limits
    this.#onLimit('containerLogMaxSize')
    if (rotateLog(this.#file, files)) this.#onLimit('containerLogMaxFiles')
  }

  #prefix(tag: 'F' | 'P'): Buffer {
    return Buffer.from(`${toMicroTime(this.#clock.now()).replace('Z', '000Z')} stdout ${tag} `)
  }
}
