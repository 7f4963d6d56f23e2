import type { Duplex } from 'node:stream'
import type { Clock } from '../../../shared/clock/clock.ts'
import { acceptSpdy } from '../../../shared/spdy/connection.ts'
import type { SpdyStream } from '../../../shared/spdy/stream.ts'
import { encodeStatus } from './remote-status.ts'
import { parseSizes, type RemoteStreams, type WantedStreams } from './remote-streams.ts'

export interface SpdyRemoteOptions {
  transport: Duplex
  /** Names the version of the protocol, 1 to 4. */
  version: number
  wanted: WantedStreams
  clock: Clock
}

const openTimeoutMs = 30_000
/** Gives the client time to read the last word, and to close its side. */
const lingerMs = 30_000

/**
 * Resolves when the client has opened all streams that it asked for; undefined when it went before, or took too long.
 */
export async function spdyRemoteStreams(options: SpdyRemoteOptions): Promise<RemoteStreams | undefined> {
  const { transport, version } = options
  const missing = new Set(streamTypes(options))
  const streams = new Map<string, SpdyStream>()
  const complete = Promise.withResolvers<'complete'>()
  const connection = acceptSpdy(transport, (stream) => {
    const type = stream.headers.get('streamtype') ?? ''
    if (!missing.delete(type)) return stream.refuse()
    streams.set(type, stream)
    if (missing.size === 0) complete.resolve('complete')
  })
  const gone = new AbortController()
  const closed = connection.closed.then(() => gone.abort())
  const late = options.clock.machine.setTimer(openTimeoutMs, () => transport.destroy())
  const first = await Promise.race([complete.promise, closed])
  late.cancel()
  if (first !== 'complete') return undefined
  const close = (): void => {
    connection.close()
    const leave = options.clock.machine.setTimer(lingerMs, () => transport.destroy(), { background: true })
    void closed.then(() => leave.cancel())
  }
  return {
    stdin: streams.get('stdin'),
    stdout: streams.get('stdout'),
    stderr: streams.get('stderr'),
    gone: gone.signal,
    onResize: (listener) =>
      streams.get('resize')?.on('data', (data: Buffer) => {
        for (const size of parseSizes(data.toString())) listener(size)
      }),
    finish(status) {
      const error = streams.get('error')
      if (!error || error.destroyed) return close()
      error.end(encodeStatus(status, version), close)
    },
  }
}

function streamTypes({ version, wanted: { stdin, stdout, stderr, tty } }: SpdyRemoteOptions): string[] {
  const types = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty && version >= 3 }
  return Object.entries(types).flatMap(([type, isWanted]) => (isWanted ? [type] : []))
}
