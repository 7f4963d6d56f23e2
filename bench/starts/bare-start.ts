/**
 * The ceiling of a start: fastify over TLS in a fresh process, from its import to its first answer, and the memory that
 * this takes. Arguments: certificate, key, CA.
 */
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { realClock } from '../../shared/clock/real-clock.ts'

export interface BareStart {
  ms: number
  rssMegabytes: number
}

const [cert, key, ca] = process.argv.slice(2).map((file) => readFileSync(file))
const startedMs = realClock.monotonic()
const { fastify } = await import('fastify')
const app = fastify({ https: { cert, key, ca, requestCert: true, rejectUnauthorized: false } })
app.get('/readyz', () => 'ok')
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo
await new Promise<void>((resolve, reject) => {
  const request = get({ host: '127.0.0.1', port, path: '/readyz', ca, cert, key, agent: false }, (response) =>
    response.resume().on('end', resolve),
  )
  request.on('error', reject)
})
const ms = realClock.monotonic() - startedMs
process.send?.({ ms, rssMegabytes: process.memoryUsage.rss() / 1e6 } satisfies BareStart)
await app.close()
