import { createInflate, type Inflate } from 'node:zlib'
import { tooLarge } from '../client/gathered.ts'
import { headerDictionary } from './dictionary.ts'

/** Maps header names in lower case to their values. */
export type Headers = ReadonlyMap<string, string>

/** A block may have this size; what clients send has less than 1 KiB. */
const maxHeaderBytes = 16 * 1024

const options = { dictionary: headerDictionary, readableHighWaterMark: 4 * maxHeaderBytes }

/** All header blocks of a connection are one compressed stream, cut where a block ends. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate(options)

  /** Rejects for what is no block, or becomes too large. */
  async read(block: Buffer): Promise<Headers> {
    const inflated = Promise.withResolvers<void>()
    // Beyond its high-water mark the stream waits to be read, and says nothing of the block any more.
    const check = (): void => {
      if (this.#inflate.readableLength > maxHeaderBytes) inflated.reject(tooLarge('a header block', maxHeaderBytes))
    }
    this.#inflate.on('readable', check).once('error', inflated.reject)
    this.#inflate.write(block, () => inflated.resolve())
    await inflated.promise
    this.#inflate.off('readable', check).off('error', inflated.reject)
    if (this.#inflate.readableLength > maxHeaderBytes) throw tooLarge('a header block', maxHeaderBytes)
    return parse(this.#readAll())
  }

  /**
   * Reads until the inflater is empty: one read returns only what its own buffer held if the block crosses the buffer's
   * end.
   */
  #readAll(): Buffer {
    const parts: Buffer[] = []
    for (let part = this.#inflate.read(); part !== null; part = this.#inflate.read()) parts.push(part as Buffer)
    return Buffer.concat(parts)
  }

  close(): void {
    this.#inflate.close()
  }
}

function parse(bytes: Buffer): Headers {
  let offset = 0
  const number = (): number => {
    offset += 4
    return bytes.readUInt32BE(offset - 4)
  }
  const text = (): string => {
    const start = offset + 4
    offset = start + bytes.readUInt32BE(offset)
    if (offset > bytes.length) throw new Error('a header that is cut short')
    return bytes.toString('utf8', start, offset)
  }
  const headers = new Map<string, string>()
  for (let left = number(); left > 0; left--) headers.set(text(), text())
  return headers
}

const zlibHead = Buffer.of(0x78, 0x01)
/** No header at all: the number 0, in one stored block, and an empty one that flushes it. */
const noHeaders = Buffer.of(0x00, 0x04, 0x00, 0xfb, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0xff, 0xff)

/** We have nothing to say in headers, and so need no compressor. */
export class HeaderWriter {
  #begun = false

  empty(): Buffer {
    const block = this.#begun ? noHeaders : Buffer.concat([zlibHead, noHeaders])
    this.#begun = true
    return block
  }
}
