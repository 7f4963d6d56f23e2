import { closeSync, constants, fchmodSync, openSync, readSync, writeSync } from 'node:fs'

/** The revision twice: a reader that sees two numbers has met a write, and looks again. */
const bytes = 16

/**
 * A file of 16 bytes in which the holder of a store says its revision before anyone is told of the write. A member
 * reads it in place of a question: 2 µs, and no turn of the holder. All processes of a machine see one page of a file.
 */
export class RevisionPage {
  readonly #fd: number
  readonly #numbers = new Float64Array(2)
  readonly #view = new Uint8Array(this.#numbers.buffer)

  private constructor(fd: number) {
    this.#fd = fd
  }

  /** Opens the holder's page, or makes it. It stays the same file, which running members have open. */
  static make(path: string): RevisionPage {
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    fchmodSync(fd, 0o600)
    return new RevisionPage(fd)
  }

  static open(path: string): RevisionPage {
    return new RevisionPage(openSync(path, 'r'))
  }

  /** Throws when the disk fails: members would take an old state for the present. */
  write(revision: number): void {
    this.#numbers.fill(revision)
    if (writeSync(this.#fd, this.#view, 0, bytes, 0) !== bytes)
      throw new Error('cannot write the revision of the store')
  }

  read(): number {
    const numbers = this.#numbers
    do {
      if (readSync(this.#fd, this.#view, 0, bytes, 0) !== bytes) return 0
    } while (numbers[0] !== numbers[1])
    return numbers[0]!
  }

  close(): void {
    closeSync(this.#fd)
  }
}
