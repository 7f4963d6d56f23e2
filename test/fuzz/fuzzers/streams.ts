/** SPDY and WebSocket frames of exec, attach and port-forward, at the kubelet's side: the connection ends, and nothing else does. */
import { Duplex, PassThrough } from 'node:stream'
import { acceptSpdy } from '../../../shared/spdy/connection.ts'
import { controlFrame, dataFrame, numbers, ping, rstStream, synStream } from '../../../shared/spdy/frames.ts'
import { HeaderPacker, headerText } from '../../../shared/spdy/header-packer.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'

async function anyFrame(random: Random, blocks: HeaderPacker): Promise<Buffer> {
  const id = random.below(6)
  switch (random.below(6)) {
    case 0: {
      const headers = headerText({ streamtype: random.pick(['stdin', 'error', 'x']) })
      if (random.chance(0.2)) headers.writeUInt32BE(random.below(0xffff_ffff))
      const block = await blocks.packBytes(random.chance(0.7) ? headers : random.mutated(headers))
      const head = Buffer.concat([numbers(id, 0), Buffer.alloc(2)])
      return controlFrame(synStream, Buffer.concat([head, random.chance(0.8) ? block : random.mutated(block)]))
    }
    case 1:
      return dataFrame(id, random.bytes(50), { fin: random.chance(0.3) })
    case 2:
      return controlFrame(rstStream, numbers(...random.times(2, () => id)))
    case 3:
      return controlFrame(ping, random.bytes(8))
    case 4:
      return controlFrame(random.below(12), random.bytes(12))
    default:
      return random.bytes(30)
  }
}

export const streams: Fuzzer = {
  name: 'SPDY frames',
  attempts: 400,
  start: () => ({
    async attempt(random) {
      const blocks = new HeaderPacker()
      const incoming = new PassThrough()
      const transport = Duplex.from({ readable: incoming, writable: new PassThrough().resume() } as never)
      const connection = acceptSpdy(transport, (stream) => {
        stream.resume()
        if (random.chance(0.5)) stream.write('answer')
        if (random.chance(0.2)) stream.refuse()
      })
      const frames: Buffer[] = []
      for (let count = random.below(12); count > 0; count--) frames.push(await anyFrame(random, blocks))
      for (const piece of random.pieces(Buffer.concat(frames))) incoming.write(piece)
      incoming.end()
      await connection.closed
    },
  }),
}
