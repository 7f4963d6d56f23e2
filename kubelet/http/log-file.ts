import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import path from 'node:path'

const blockSize = 64 * 1024
const newline = 0x0a

/** Reads a log file as it grows, also past a rotation: a new file under the same name is read from its beginning. */
export class LogFile {
  readonly #path: string
  #handle: FileHandle
  #inode: number
  #offset: number
  /** The offset at which reading ends; infinite for a log that is followed. */
  readonly #end: number

  private constructor(file: string, handle: FileHandle, at: { inode: number; offset: number; end: number }) {
    this.#path = file
    this.#handle = handle
    this.#inode = at.inode
    this.#offset = at.offset
    this.#end = at.end
  }

  /**
   * Opens the file at its beginning, or before its last `tailLines` lines. Without `follow`, reading stops where the
   * log ends at this moment.
   */
  static async open(file: string, { tailLines, follow }: { tailLines?: number; follow: boolean }): Promise<LogFile> {
    const handle = await openOrMake(file)
    const { ino: inode, size } = await handle.stat()
    const end = await lastLineEnd(handle, size)
    const offset = tailLines === undefined ? 0 : await tailOffset(handle, end, tailLines)
    return new LogFile(file, handle, { inode, offset, end: follow ? Number.POSITIVE_INFINITY : end })
  }

  /** Reads what follows the part that was read before; empty at the end. */
  async read(): Promise<Buffer> {
    const data = await this.#readOn()
    if (data.length > 0 || this.#offset >= this.#end) return data
    const now = await stat(this.#path).catch(() => undefined)
    if (!now || now.ino === this.#inode) return data
    // Reads what was written just before the rotation.
    const last = await this.#readOn()
    if (last.length > 0) return last
    await this.#reopen()
    return this.read()
  }

  async #readOn(): Promise<Buffer> {
    const length = Math.min(blockSize, this.#end - this.#offset)
    const buffer = Buffer.allocUnsafe(length)
    const { bytesRead } = await this.#handle.read(buffer, 0, length, this.#offset)
    this.#offset += bytesRead
    return buffer.subarray(0, bytesRead)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }

  async #reopen(): Promise<void> {
    const next = await open(this.#path, 'r')
    await this.#handle.close()
    this.#handle = next
    this.#inode = (await next.stat()).ino
    this.#offset = 0
  }
}

/** A container without output has no log yet; a client that follows it waits for the file to grow. */
async function openOrMake(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await mkdir(path.dirname(file), { recursive: true, mode: 0o755 })
    return open(file, 'a+', 0o640)
  }
}

/** Returns the end of the last whole line: the writer may be in the middle of the next one. */
async function lastLineEnd(handle: FileHandle, size: number): Promise<number> {
  if (size === 0) return 0
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] === newline ? size : tailOffset(handle, size, 1)
}

/** Where the last `lines` lines begin, read backwards. */
async function tailOffset(handle: FileHandle, size: number, lines: number): Promise<number> {
  if (lines === 0) return size
  const buffer = Buffer.allocUnsafe(blockSize)
  let found = 0
  // The newline at the very end closes the last line; it opens none.
  for (let end = size - 1; end > 0; ) {
    const start = Math.max(0, end - blockSize)
    await handle.read(buffer, 0, end - start, start)
    for (let i = end - start - 1; i >= 0; i--) {
      if (buffer[i] === newline && ++found === lines) return start + i + 1
    }
    end = start
  }
  return 0
}
