import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import { acceptSpdy } from '../../../shared/spdy/connection.ts'
import type { SpdyStream } from '../../../shared/spdy/stream.ts'

export interface PortForwardTarget {
  clock: Clock
  connect(port: number): Promise<Duplex>
  /** Names the pod in errors. */
  describe: string
}

interface Pair {
  error?: SpdyStream
  data?: SpdyStream
  /** Limits the wait for the second stream. */
  late: Timer
}

const pairTimeoutMs = 30_000
const maxPort = 65_535

/** For each connection the client opens two streams, `error` and `data`, that share a requestID. */
export function servePortForward(transport: Duplex, target: PortForwardTarget): Promise<void> {
  const pairs = new Map<string, Pair>()
  const { closed } = acceptSpdy(transport, (stream) => {
    const { port, requestId, type } = readHeaders(stream)
    if (port === undefined || type === undefined) return stream.refuse()
    const pair = pairs.get(requestId) ?? startPair(requestId)
    if (pair[type]) return stream.refuse()
    pair[type] = stream
    stream.once('close', () => leave(requestId, pair))
    if (!pair.error || !pair.data) return
    pair.late.cancel()
    pairs.delete(requestId)
    void forward({ error: pair.error, data: pair.data, port }, target)
  })

  function startPair(requestId: string): Pair {
    const late = target.clock.machine.setTimer(pairTimeoutMs, () => {
      pairs.delete(requestId)
      pair.error?.end(`timed out waiting for the other stream of request ${requestId}`)
      pair.data?.destroy()
    })
    const pair: Pair = { late }
    pairs.set(requestId, pair)
    return pair
  }
  /** Handles a stream that has ended before the other one of its pair came. */
  function leave(requestId: string, pair: Pair): void {
    if (pairs.get(requestId) !== pair) return
    pair.late.cancel()
    pairs.delete(requestId)
  }
  return closed.then(() => {
    for (const { late } of pairs.values()) late.cancel()
  })
}

function readHeaders({ id, headers }: SpdyStream): { port?: number; type?: 'error' | 'data'; requestId: string } {
  const port = Number(headers.get('port'))
  const type = headers.get('streamtype')
  return {
    port: Number.isInteger(port) && port > 0 && port <= maxPort ? port : undefined,
    type: type === 'error' || type === 'data' ? type : undefined,
    // Old clients send none; the client's streams have odd numbers, and that of the errors comes first.
    requestId: headers.get('requestid') ?? String(type === 'data' ? id - 2 : id),
  }
}

async function forward(
  { error, data, port }: { error: SpdyStream; data: SpdyStream; port: number },
  { connect, describe }: PortForwardTarget,
): Promise<void> {
  error.resume()
  try {
    const connection = await connect(port)
    // Over when the server has said all, read all or not.
    connection.on('error', () => undefined)
    data.pipe(connection)
    await pipeline(connection, data)
    data.resume()
    error.end()
  } catch (problem) {
    if (!error.destroyed) error.end(forwardProblem({ port, describe }, problem as Error))
    data.destroy()
  }
}

export const forwardProblem = ({ port, describe }: { port: number; describe: string }, { message }: Error): string =>
  `error forwarding port ${port} to pod ${describe}: ${message}`
