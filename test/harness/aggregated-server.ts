import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { issueCertificate, type KeyPair } from '../../shared/pki/certificate.ts'
import { testAuthority } from './webhook-server.ts'

const hourMs = 3_600_000

export interface AggregatedServer {
  server: Server
  address: string
  port: number
  authority: KeyPair
  /** PEM of the CA of its certificate, in base64. */
  caBundle: string
  /** Requests that came, without those of the API server itself. */
  requests: { url: string; method: string; headers: IncomingMessage['headers']; peer: string }[]
  /** Answers by path; others are answered with 404. */
  answers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>
}

/** A server that an APIService names: it takes only clients whose certificate `clientCa` has signed. */
export async function startAggregatedServer(
  t: Test,
  { clientCa, serverName }: { clientCa: string; serverName: string },
): Promise<AggregatedServer> {
  const authority = testAuthority()
  const lifetime = { notBefore: toTime(realClock.now() - hourMs), notAfter: toTime(realClock.now() + hourMs) }
  const pair = issueCertificate({ commonName: 'api', altNames: [serverName], usage: 'server', ...lifetime }, authority)
  const requests: AggregatedServer['requests'] = []
  const answers: AggregatedServer['answers'] = new Map()
  const trust = { ca: clientCa, requestCert: true, rejectUnauthorized: true }
  const server = createServer({ cert: pair.cert, key: pair.key, ...trust }, (request, response) => {
    const { url = '', method = '', headers } = request
    const peer = (request.socket as TLSSocket).getPeerCertificate().subject?.CN
    if (!/^system:(kube-)?aggregator$/.test(String(headers['x-remote-user'])))
      requests.push({ url, method, headers, peer: String(peer) })
    const answer = answers.get(url.split('?')[0] ?? '')
    if (answer) answer(request, response)
    else response.writeHead(404).end('not here\n')
  })
  const address = '127.64.9.1'
  await new Promise<void>((resolve) => void server.listen(0, address, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    server,
    address,
    port,
    authority,
    caBundle: Buffer.from(authority.cert).toString('base64'),
    requests,
    answers,
  }
}
