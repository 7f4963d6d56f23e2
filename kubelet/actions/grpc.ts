import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { Gathered } from '../../shared/client/gathered.ts'
import { hostPort } from '../../shared/client/network-errors.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { codeName, grpcCodes } from '../../shared/grpc/status.ts'
import { percentDecoded } from '../../shared/http/percent-decoded.ts'
import { type ActionOptions, type ActionResult, type ActionTarget, CANCELED } from './action.ts'
import { networkFor } from './dial.ts'

const serving = 1
const statusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']
/** An answer may have this size; a health check has seven bytes. */
const maxMessageBytes = 64 * 1024
/** Upstream: google.golang.org/grpc/backoff, without its jitter. */
const firstBackoffMs = 1_000
const backoffFactor = 1.6

/**
 * grpc.health.v1.Health/Check in plaintext: one message of one field each way, so that HTTP/2 and a few bytes are all
 * it takes. Upstream: pkg/probe/grpc.
 */
export async function runGrpc(
  { port, service = '' }: { port: number; service?: string },
  target: ActionTarget,
  { clock, timeoutMs = 1_000, userAgent, signal }: ActionOptions & { clock: Clock },
): Promise<ActionResult> {
  const address = hostPort(target.podIP, port)
  const { promise, resolve } = Promise.withResolvers<ActionResult>()
  const fail = (message: string) => resolve({ outcome: 'failure', output: '', message })
  let connected = false
  let isOver = false
  const timer = clock.machine.setTimer(timeoutMs, () =>
    connected
      ? fail(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`)
      : fail(`timeout: failed to connect service "${address}" within ${timeoutMs / 1000}s: context deadline exceeded`),
  )
  const giveUp = () => fail(CANCELED)
  signal?.addEventListener('abort', giveUp)
  if (signal?.aborted) giveUp()
  let session: ClientHttp2Session | undefined
  let retry: Timer | undefined
  // A refused connection is tried again until the time is over, as gRPC does: the timer speaks for it.
  const attempt = async (delayMs: number): Promise<void> => {
    const again = () => {
      if (!connected && !isOver) retry = clock.machine.setTimer(delayMs, () => attempt(delayMs * backoffFactor))
    }
    session = await sessionWith(target, port, timeoutMs)
    if (isOver) session?.destroy()
    if (!session) return again()
    session.on('error', () => {})
    session.once('close', again)
    // A server of another protocol never gets here: a gRPC connection is ready after both prefaces.
    session.once('remoteSettings', () => {
      connected = true
      if (session) check(session, service, userAgent, resolve)
    })
  }
  attempt(firstBackoffMs)
  const result = await promise
  signal?.removeEventListener('abort', giveUp)
  timer.cancel()
  isOver = true
  retry?.cancel()
  session?.destroy()
  return result
}

/** Asks once, over a connection that is ready. */
function check(
  session: ClientHttp2Session,
  service: string,
  userAgent: string | undefined,
  resolve: (result: ActionResult) => void,
): void {
  const fail = (message: string) => resolve({ outcome: 'failure', output: '', message })
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(userAgent && { 'user-agent': userAgent }),
  })
  const body = new Gathered('the answer', maxMessageBytes)
  let code: string | undefined
  let text = ''
  const note = (headers: Record<string, unknown>) => {
    if (headers['grpc-status'] === undefined) return
    code = String(headers['grpc-status'])
    text = percentDecoded(String(headers['grpc-message'] ?? ''))
  }
  stream.on('response', note)
  stream.on('trailers', note)
  stream.on('data', (chunk: Buffer) => {
    if (body.length + chunk.length <= maxMessageBytes) return body.add(chunk)
    stream.close()
    fail(
      'error: health rpc probe failed: rpc error: code = ResourceExhausted desc = grpc: received message larger than max',
    )
  })
  stream.on('error', (error) => fail(`error: health rpc probe failed: ${error.message}`))
  stream.on('end', () => resolve(judge(code, text, body.take())))
  stream.end(frame(service))
}

/** Resolves to undefined where the pod's own network refuses the connection. */
async function sessionWith(
  { runtime, podIP: host }: ActionTarget,
  port: number,
  timeoutMs: number,
): Promise<ClientHttp2Session | undefined> {
  const url = `http://${hostPort(host, port)}`
  const network = networkFor(runtime, host)
  if (!network) return connect(url)
  const socket = await network.connect({ host, port, timeoutMs }).catch(() => undefined)
  return socket && connect(url, { createConnection: () => socket })
}

/** HealthCheckRequest{service = 1}, behind gRPC's five bytes. */
function frame(service: string): Buffer {
  const name = Buffer.from(service)
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name])
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}

function judge(code: string | undefined, text: string, body: Buffer): ActionResult {
  const failure = (message: string): ActionResult => ({ outcome: 'failure', output: '', message })
  if (code === String(grpcCodes.unimplemented)) {
    return failure(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${text}`)
  }
  if (code !== '0')
    return failure(
      `error: health rpc probe failed: rpc error: code = ${codeName(Number(code ?? grpcCodes.unavailable))} desc = ${text}`,
    )
  // HealthCheckResponse{status = 1}: the tag 0x08 and one byte; nothing at all is zero.
  const status = body[5] === 0x08 ? (body[6] ?? 0) : 0
  if (status === serving) return { outcome: 'success', output: '', message: 'service healthy' }
  return failure(`service unhealthy (responded with "${statusNames[status] ?? status}")`)
}
