import { createDeflate, constants as zlib } from 'node:zlib'
import { headerDictionary } from '../../kubelet/http/streaming/spdy/dictionary.ts'
import { controlFrame, numbers, synStream } from '../../kubelet/http/streaming/spdy/frames.ts'

/** How a flush ends. */
const flushed = Buffer.of(0x00, 0x00, 0xff, 0xff)
const text = (word: string): Buffer => Buffer.concat([numbers(Buffer.byteLength(word)), Buffer.from(word)])

/** A header block before it is compressed. */
export function headerText(headers: Record<string, string>): Buffer {
  const entries = Object.entries(headers)
  return Buffer.concat([numbers(entries.length), ...entries.flat().map(text)])
}

/** Compresses the header blocks of one connection: each goes on where the one before it ended. */
export class HeaderBlocks {
  readonly #deflate = createDeflate({ dictionary: headerDictionary })

  async of(headers: Buffer): Promise<Buffer> {
    const parts: Buffer[] = []
    this.#deflate.write(headers)
    this.#deflate.flush(zlib.Z_SYNC_FLUSH)
    while (!parts.at(-1)?.subarray(-4).equals(flushed)) {
      const part = this.#deflate.read() as Buffer | null
      if (part) parts.push(part)
      else await new Promise(setImmediate)
    }
    return Buffer.concat(parts)
  }
}

/** Makes the frames that open streams, as a client does. `headers` may be a block of any bytes. */
export function createOpener(): (
  id: number,
  headers: Record<string, string> | Buffer,
  flags?: number,
) => Promise<Buffer> {
  const blocks = new HeaderBlocks()
  return async (id, headers, flags = 0) => {
    const block = await blocks.of(Buffer.isBuffer(headers) ? headers : headerText(headers))
    const frame = controlFrame(synStream, Buffer.concat([numbers(id, 0), Buffer.alloc(2), block]))
    frame[4] = flags
    return frame
  }
}
