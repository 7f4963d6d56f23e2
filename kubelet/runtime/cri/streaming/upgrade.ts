import type { Duplex } from 'node:stream'
import { Gathered } from '../../../../shared/client/gathered.ts'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { request } from '../../../../shared/http/node-http.ts'

const timeoutMs = 30_000
const maxRefusalBytes = 4 * 1024

/** Connects to a URL that the runtime gave for one stream, and changes to SPDY with this protocol on it. */
export function openSpdy(url: string, protocol: string, { machine }: Clock): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const { protocol: scheme } = URL.parse(url) ?? { protocol: 'none' }
  if (scheme !== 'http:')
    return Promise.reject(new Error(`the runtime gave a URL for the stream that is not http: ${url}`))
  const asked = request(url, {
    method: 'POST',
    headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol },
  })
  const timer = machine.setTimer(timeoutMs, () => asked.destroy(new Error(`no stream within ${timeoutMs / 1000} s`)))
  asked.on('upgrade', (_response, socket, head: Buffer) => {
    if (head.length > 0) socket.unshift(head)
    resolve(socket)
  })
  asked.on('response', (response) => {
    const body = new Gathered('the refusal of a stream', maxRefusalBytes)
    response.on('data', (part: Buffer) => {
      if (body.length + part.length <= maxRefusalBytes) body.add(part)
    })
    const refuse = (): void => reject(new Error(`HTTP status ${response.statusCode}: ${body.take().toString().trim()}`))
    response.on('end', refuse).on('error', refuse)
  })
  asked.on('error', reject)
  asked.end()
  return promise.finally(() => timer.cancel())
}
