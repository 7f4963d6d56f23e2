import type { Readable } from 'node:stream'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { Upgrade } from '../../../shared/http/upgrades.ts'
import type { Exchange } from '../exchange.ts'
import { acceptWebSocket } from './accept-websocket.ts'

/** Maps a subprotocol to its form of bytes. Upstream: k8s.io/streaming/pkg/httpstream/wsstream/stream.go. */
const encodings: ReadonlyMap<string, 'binary' | 'base64'> = new Map([
  ['binary.k8s.io', 'binary'],
  ['base64.binary.k8s.io', 'base64'],
])

/**
 * The first subprotocol of the client that is known; undefined if it names none. Throws a StatusError (403) if it knows
 * others only.
 */
export function streamProtocol({ request }: Exchange): string | undefined {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
  const known = offered.find((protocol) => encodings.has(protocol))
  if (known !== undefined || offered.join('') === '') return known
  const message = `requested protocol(s) are not supported: [${offered.join(' ')}]; supports [${[...encodings.keys()].join(' ')}]`
  throw new StatusError({ code: 403, reason: 'Forbidden', message })
}

/**
 * Sends what `source` yields as messages, after an empty one, and closes when it ends. What the client sends is
 * ignored.
 */
export async function streamOverWebSocket(
  exchange: Exchange,
  upgrade: Upgrade,
  { source, protocol }: { source: Readable; protocol: string | undefined },
): Promise<void> {
  const socket = await acceptWebSocket(exchange, upgrade, protocol)
  socket.once('close', () => source.destroy())
  const isText = encodings.get(protocol ?? '') === 'base64'
  const send = (data: Buffer) =>
    new Promise<void>((resolve, reject) => {
      const message = isText ? data.toString('base64') : data
      socket.send(message, { binary: !isText }, (error) => (error ? reject(error) : resolve()))
    })
  try {
    await send(Buffer.alloc(0))
    for await (const chunk of source as AsyncIterable<Buffer>) await send(chunk)
    socket.close(1000)
  } catch {
    // The client or the source has gone: nothing can be answered any more.
    socket.terminate()
  }
}
