import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { realClock } from '../../shared/clock/real-clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { issueCertificate, type KeyPair } from '../../shared/pki/certificate.ts'

type Json = Record<string, unknown>
/** What a webhook answers; a string is sent as it is, `undefined`: nothing, ever. */
export type Answer = (review: Json, request: IncomingMessage, response: ServerResponse) => Json | string | undefined

/** A program of its own that answers reviews over HTTPS, by paths. */
export interface WebhookServer {
  server: Server
  port: number
  /** PEM of the CA of its certificate, in base64. */
  caBundle: string
  /** Reviews that came, by path. */
  reviews: Map<string, Json[]>
  answers: Map<string, Answer>
  clientConfig(path: string): { url: string; caBundle: string }
}

const hourMs = 3_600_000
const lifetime = () => ({
  notBefore: toTime(realClock.now() - hourMs),
  notAfter: toTime(realClock.now() + hourMs),
})
export const testAuthority = (): KeyPair => issueCertificate({ commonName: 'webhooks', usage: 'ca', ...lifetime() })

export async function startWebhookServer(
  t: { teardown(end: () => unknown): unknown },
  {
    altNames = ['127.0.0.1'],
    commonName = 'webhook',
    host = '127.0.0.1',
    port: wanted = 0,
  }: { altNames?: string[]; commonName?: string; host?: string; port?: number } = {},
): Promise<WebhookServer> {
  const authority = testAuthority()
  const pair = issueCertificate({ commonName, altNames, usage: 'server', ...lifetime() }, authority)
  const reviews: WebhookServer['reviews'] = new Map()
  const answers: WebhookServer['answers'] = new Map()
  const server = createServer({ cert: pair.cert, key: pair.key }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [path = ''] = (request.url ?? '').split('?')
      const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json
      reviews.set(path, [...(reviews.get(path) ?? []), review])
      const answer = answers.get(path)?.(review, request, response)
      if (answer !== undefined) response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => void server.listen(wanted, host, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const caBundle = Buffer.from(authority.cert).toString('base64')
  return {
    server,
    port,
    caBundle,
    reviews,
    answers,
    clientConfig: (path) => ({ url: `https://${host}:${port}${path}`, caBundle }),
  }
}

/** An answer to an admission review. */
export function admitted(review: Json, response: Json = {}): Json {
  const { uid } = review.request as { uid: string }
  return { apiVersion: review.apiVersion, kind: review.kind, response: { uid, allowed: true, ...response } }
}

export const denied = (review: Json, status?: Json): Json => admitted(review, { allowed: false, status })

export const patched = (review: Json, ...operations: object[]): Json =>
  admitted(review, { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') })
