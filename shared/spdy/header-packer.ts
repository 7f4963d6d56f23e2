import { constants, createDeflate } from 'node:zlib'
import { headerDictionary } from './dictionary.ts'
import { numbers } from './frames.ts'

/** A flush ends with these bytes. */
const flushed = Buffer.of(0x00, 0x00, 0xff, 0xff)
const text = (word: string): Buffer => Buffer.concat([numbers(Buffer.byteLength(word)), Buffer.from(word)])

/** Returns a header block before it is compressed. */
export function headerText(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers)
  return Buffer.concat([numbers(entries.length), ...entries.flat().map(text)])
}

/** Compresses the header blocks of one connection: each goes on where the one before it ended. */
export class HeaderPacker {
  readonly #deflate = createDeflate({ dictionary: headerDictionary })
  #last: Promise<unknown> = Promise.resolve()

  /** Blocks are packed in the order of the calls. */
  pack(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    return this.packBytes(headerText(headers))
  }

  packBytes(block: Buffer): Promise<Buffer> {
    const packed = this.#last.then(() => this.#pack(block))
    this.#last = packed.catch(() => {})
    return packed
  }

  close(): void {
    this.#deflate.close()
  }

  async #pack(block: Buffer): Promise<Buffer> {
    this.#deflate.write(block)
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve))
    const parts: Buffer[] = []
    for (let part = this.#deflate.read(); part !== null; part = this.#deflate.read()) parts.push(part as Buffer)
    const packed = Buffer.concat(parts)
    if (!packed.subarray(-flushed.length).equals(flushed)) throw new Error('a header block was not flushed')
    return packed
  }
}
