import {
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { Clock } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import type { Logger } from '../../shared/log/log.ts'

export interface LogFileOptions {
  /** `-`: standard output. */
  path: string
  /** Sets how many days old files are kept; 0: for ever. */
  maxAge: number
  /** Sets how many old files are kept; 0: all of them. */
  maxBackups: number
  /** Megabytes, after which a new file begins; 0: 100. */
  maxSize: number
  clock: Clock
  log: Logger
}

const megabyte = 1024 * 1024
const dayMs = 86_400_000
const defaultMegabytes = 100
const maxTogether = 256 * 1024
/** A character takes so many bytes at most. */
const bytesPerCharacter = 3
/** Lines that the disk has not taken. */
const maxWaitingBytes = 64 * megabyte

/** Appends lines to a file, and begins a new one when it is large. Upstream's: lumberjack. */
export class LogFile {
  readonly #options: LogFileOptions
  #stream: WriteStream | NodeJS.WriteStream
  #bytes = 0
  #dropped = 0
  /**
   * Holds lines that wait to be written together: a write of its own for each costs more than the line. They are bytes
   * at once, because the parts of a line are in the processor's caches then.
   */
  readonly #waiting = Buffer.allocUnsafeSlow(maxTogether)
  #waitingBytes = 0

  constructor(options: LogFileOptions) {
    this.#options = options
    if (options.path !== '-') mkdirSync(dirname(options.path), { recursive: true })
    this.#stream = this.#open()
  }

  write(line: string): void {
    if (this.#stream.writableLength > maxWaitingBytes) {
      if (this.#dropped++ === 0) this.#options.log.error('audit log: lines are dropped, the disk is too slow')
      return
    }
    const most = line.length * bytesPerCharacter
    if (this.#waitingBytes + most > maxTogether) this.flush()
    if (most > maxTogether) {
      this.#append(Buffer.from(line))
      return
    }
    this.#waitingBytes += this.#waiting.write(line, this.#waitingBytes)
  }

  async close(): Promise<void> {
    this.flush()
    if (this.#options.path === '-') return
    await new Promise<void>((resolve) => void this.#stream.end(resolve))
  }

  flush(): void {
    if (this.#waitingBytes === 0) return
    const lines = Buffer.from(this.#waiting.subarray(0, this.#waitingBytes))
    this.#waitingBytes = 0
    this.#append(lines)
  }

  #append(lines: Buffer): void {
    const { path, maxSize } = this.#options
    if (path !== '-' && this.#bytes + lines.length > (maxSize || defaultMegabytes) * megabyte) this.#rotate()
    this.#bytes += lines.length
    this.#stream.write(lines)
  }

  #open(): WriteStream | NodeJS.WriteStream {
    const { path, log } = this.#options
    if (path === '-') return process.stdout
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const stream = createWriteStream(path, { fd: openSync(path, 'a', 0o600) })
    stream.on('error', (error) => log.error({ err: error }, 'audit log: a line could not be written'))
    return stream
  }

  /** The file gets its time as a part of its name; those that are too many, or too old, are removed. */
  #rotate(): void {
    const { path, clock, log } = this.#options
    let ms = clock.machine.now()
    while (existsSync(backupOf(path, ms))) ms++
    try {
      renameSync(path, backupOf(path, ms))
      const before = this.#stream
      this.#stream = this.#open()
      before.end()
      this.#prune()
    } catch (error) {
      log.error({ err: error }, 'audit log: the file could not be rotated')
    }
  }

  #prune(): void {
    const { path, maxAge, maxBackups, clock } = this.#options
    const { name, extension } = namesOf(path)
    const isBackup = (file: string): boolean =>
      file.startsWith(`${name}-`) && file.endsWith(extension) && /\d{4}-\d\d-\d\dT/.test(file)
    const backups = readdirSync(dirname(path)).filter(isBackup).sort().reverse()
    const oldest = clock.machine.now() - maxAge * dayMs
    for (const [index, file] of backups.entries()) {
      const whole = join(dirname(path), file)
      if ((maxBackups > 0 && index >= maxBackups) || (maxAge > 0 && statSync(whole).mtimeMs < oldest)) rmSync(whole)
    }
  }
}

/** `audit-2026-11-21T12-00-00.000.log` */
function backupOf(path: string, ms: number): string {
  const { name, extension } = namesOf(path)
  const time = toMicroTime(ms).replaceAll(':', '-').slice(0, '2026-11-21T12-00-00.000'.length)
  return join(dirname(path), `${name}-${time}${extension}`)
}

function namesOf(path: string): { name: string; extension: string } {
  const extension = extname(path)
  return { name: basename(path, extension), extension }
}
