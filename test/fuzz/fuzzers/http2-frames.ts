/** Frames and header blocks at the server's side of HTTP/2: whatever comes, it answers or ends the connection by its rules. */
import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { Http2Connection } from '../../../shared/http2/server/connection.ts'
import { echo, frame, get, head, maxStreams, post, preface, settings } from '../../apiserver/http2/raw-client.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'

const mostWritten = 4 * 1024 * 1024

class Wire extends Duplex {
  written = 0
  setNoDelay(): void {}
  destroySoon(): void {
    this.destroy()
  }
  override _read(): void {}
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.written += chunk.length
    done()
  }
}

function anyFrame(random: Random): Buffer {
  const id = random.chance(0.8) ? 2 * random.below(12) + 1 : random.below(0x8000_0000)
  const blocks = [get(), post(), post(['content-length', '3']), head([['a', 'b']]), random.bytes(60)]
  const payload = random.pick([
    () => random.pick(blocks),
    () => random.mutated(random.pick(blocks)),
    () => random.bytes(20),
    () => Buffer.alloc(random.pick([0, 4, 5, 6, 8, 12]), random.below(256)),
  ])()
  const bytes = frame(random.below(11), random.below(256), random.chance(0.2) ? 0 : id, payload)
  return random.chance(0.1) ? random.mutated(bytes) : bytes
}

export const http2Frames: Fuzzer = {
  name: 'HTTP/2 frames',
  attempts: 800,
  start: () => ({
    async attempt(random) {
      const wire = new Wire()
      const clock = createVirtualClock(0)
      const options = { clock, requestTimeoutMs: 60_000, onRequest: echo, maxStreams }
      new Http2Connection(wire as unknown as TLSSocket, options)
      const begun = random.chance(0.9) ? [preface, settings()] : []
      const bytes = Buffer.concat([...begun, ...random.times(40, () => anyFrame(random))])
      for (const piece of random.pieces(bytes)) if (!wire.destroyed) wire.emit('data', piece)
      await new Promise((resolve) => setImmediate(resolve))
      if (wire.written > mostWritten) throw new Error(`${wire.written} bytes for ${bytes.length}`)
      await clock.advance(200_000)
      wire.destroy()
    },
  }),
}
