import { createInflate, type Inflate } from 'node:zlib'
import { headerDictionary } from './dictionary.ts'

/** Names in lower case. */
export type Headers = ReadonlyMap<string, string>

/** All header blocks of a connection are one compressed stream, cut where a block ends. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: headerDictionary })

  async read(block: Buffer): Promise<Headers> {
    await new Promise<void>((resolve, reject) => {
      this.#inflate.once('error', reject)
      this.#inflate.write(block, () => {
        this.#inflate.off('error', reject)
        resolve()
      })
    })
    return parse((this.#inflate.read() as Buffer | null) ?? Buffer.alloc(0))
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
