import { closeSync, createReadStream, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { notAFile } from '../files/regular-file.ts'
import type { RecordLine } from './format.ts'
import { RecordError, readRecord } from './reader.ts'

const newline = 0x0a
const blockBytes = 64 * 1024

/** Appends lines to a file. What is there stays, but for a last line that has no end. */
export class RecordWriter {
  readonly #descriptor: number
  bytes = 0

  /** Nothing has been written to the file. */
  isNew: boolean

  private constructor(descriptor: number, isNew: boolean) {
    this.#descriptor = descriptor
    this.isNew = isNew
  }

  /** A new file, which only its user may read. Throws EEXIST for one that is there. */
  static create(file: string): RecordWriter {
    return new RecordWriter(openSync(file, 'wx', 0o600), true)
  }

  /** Goes on with a record. Rejects with a RecordError for what is none. */
  static async append(file: string): Promise<RecordWriter> {
    const kind = statSync(file)
    if (!kind.isFile() && !kind.isDirectory()) throw notAFile(file)
    for await (const line of readRecord(createReadStream(file), { name: file })) if (line.type === 'HEADER') break
    const descriptor = openSync(file, 'r+')
    ftruncateSync(descriptor, endOfLines(descriptor))
    closeSync(descriptor)
    return new RecordWriter(openSync(file, 'a'), false)
  }

  line(line: RecordLine): void {
    this.lines(Buffer.from(`${JSON.stringify(line)}\n`))
  }

  lines(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#descriptor, bytes, written, bytes.length - written)
    this.bytes += bytes.length
    this.isNew = false
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** Returns the offset at which the last whole line ends. */
function endOfLines(descriptor: number): number {
  const block = Buffer.alloc(blockBytes)
  for (let end = fstatSync(descriptor).size; end > 0; ) {
    const start = Math.max(0, end - blockBytes)
    const read = readSync(descriptor, block, 0, end - start, start)
    const last = block.subarray(0, read).lastIndexOf(newline)
    if (last !== -1) return start + last + 1
    end = start
  }
  throw new RecordError('it has no whole line')
}
