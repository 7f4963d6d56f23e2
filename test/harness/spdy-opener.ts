import { controlFrame, numbers, synStream } from '../../shared/spdy/frames.ts'
import { HeaderPacker, headerText } from '../../shared/spdy/header-packer.ts'

/** Makes the frames that open streams, as a client does. `headers` may be a block of any bytes. */
export function createOpener(): (
  id: number,
  headers: Record<string, string> | Buffer,
  flags?: number,
) => Promise<Buffer> {
  const blocks = new HeaderPacker()
  return async (id, headers, flags = 0) => {
    const block = await blocks.packBytes(Buffer.isBuffer(headers) ? headers : headerText(headers))
    const frame = controlFrame(synStream, Buffer.concat([numbers(id, 0), Buffer.alloc(2), block]))
    frame[4] = flags
    return frame
  }
}
