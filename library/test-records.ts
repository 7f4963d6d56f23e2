import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { RecordFeed } from '../apiserver/record/record-feed.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { RecordedMark, RecordHeader, RecordLine } from '../shared/record/format.ts'
import { type EndedTest, outcomeOf } from './test-outcome.ts'

/** Bounds the record of one test in memory; a longer record loses its beginning. */
const maxBytes = 64 * 1024 * 1024
const maxText = 1_000
const newline = 0x0a
/** Time limit for the last lines to arrive. */
const markTimeoutMs = 2_000

interface Parts {
  folder: string
  feed: RecordFeed
  clock: Clock
  machine: Clock
  say(line: string): void
}

/** Records what happens during each test, and keeps the records of failed tests as files. */
export class TestRecords {
  readonly #parts: Parts
  #current: Recording

  constructor(parts: Parts) {
    this.#parts = parts
    this.#current = this.#begin()
  }

  /** Keeps the record of a test that failed. The next test has a record of its own. Resolves to the file. */
  async afterTest(test: EndedTest): Promise<string | undefined> {
    const { name, failed, message } = outcomeOf(test)
    if (failed) return this.keep(name, message)
    this.#beginAgain()
    return undefined
  }

  /** Writes what has happened since the last test, with a mark of the failure at its end. Resolves to the file. */
  async keep(name: string, message = ''): Promise<string> {
    const { folder, feed, clock, machine, say } = this.#parts
    const recording = this.#current
    const text = `failed: ${name}${message && `: ${message}`}`.slice(0, maxText)
    const mark: RecordedMark = { type: 'MARK', at: new Date(clock.now()).toISOString(), text, level: 'failure' }
    const arrived = recording.arrival(`${JSON.stringify(mark)}\n`)
    feed.add([mark])
    await Promise.race([arrived, machine.sleep(markTimeoutMs)])
    this.#beginAgain()
    const file = writeNew(folder, name, recording.text(name))
    say(`${name} failed; \`kubestage ui ${file}\` shows what happened`)
    return file
  }

  close(): void {
    this.#current.destroy()
  }

  #begin(): Recording {
    const recording = new Recording(() => {
      if (this.#current !== recording) return
      this.#beginAgain()
      this.#current.isCut = true
    })
    this.#parts.feed.follow(recording, 'tests')
    return recording
  }

  #beginAgain(): void {
    this.#current.destroy()
    this.#current = this.#begin()
  }
}

/** Collects the lines of a record. */
class Recording extends Writable {
  /** True if the beginning of the record was dropped. */
  isCut = false
  readonly #chunks: Buffer[] = []
  readonly #isFull: () => void
  #bytes = 0
  #awaited: { line: Buffer; seen(): void } | undefined

  constructor(isFull: () => void) {
    super()
    this.#isFull = isFull
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#awaited && chunk.includes(this.#awaited.line)) this.#awaited.seen()
    if (this.#bytes > maxBytes) this.#isFull()
    done()
  }

  arrival(line: string): Promise<void> {
    return new Promise((seen) => {
      this.#awaited = { line: Buffer.from(line), seen }
    })
  }

  /** Returns all lines; the header has the title. */
  text(title: string): Buffer {
    const all = Buffer.concat(this.#chunks)
    const end = all.indexOf(newline)
    const header = JSON.parse(all.toString('utf8', 0, end)) as RecordHeader
    const lines: RecordLine[] = [{ ...header, title }]
    const message = `the test has more than ${maxBytes / 2 ** 20} MB of lines: the first are left out`
    if (this.isCut) lines.push({ type: 'GAP', at: header.at, message })
    const first = lines.map((line) => JSON.stringify(line)).join('\n')
    return Buffer.concat([Buffer.from(first), all.subarray(end)])
  }
}

/** Writes a file named after the test, with a number if the name is taken. Resolves to its path. */
function writeNew(folder: string, name: string, bytes: Uint8Array): string {
  mkdirSync(folder, { recursive: true })
  const base =
    name
      .replace(/[^\p{L}\p{N}.]+/gu, '-')
      .replace(/^[-.]+|-+$/g, '')
      .slice(0, 100) || 'test'
  for (let count = 1; ; count++) {
    const file = join(folder, `${base}${count === 1 ? '' : `-${count}`}.ndjson`)
    try {
      writeFileSync(file, bytes, { flag: 'wx', mode: 0o600 })
      return file
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
