import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { openAnswer } from '../../../cli/access/ask-server.ts'
import type { ClusterAccess } from '../../../shared/client/rest-client.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { issueCertificate } from '../../../shared/pki/certificate.ts'

async function listen(t: Test, server: Server): Promise<ClusterAccess> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, insecureSkipTlsVerify: true }
}

t.test('a server that takes connections and is silent', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => {}).resume())
  const access = await listen(t, silent)
  const clock = createVirtualClock()
  const asked = openAnswer(access, { path: '/' }, clock)
  const told = t.rejects(asked, { name: 'ConfigError', message: /cannot be reached: no answer within 10 s$/ })
  await once(silent, 'connection')
  await clock.advance(10_000)
  await told
})

t.test('what a server refuses, in its words; what was typed wrong, as such', async (t) => {
  const { cert, key } = issueCertificate({
    commonName: 'localhost',
    usage: 'server',
    notBefore: '2026-01-01T00:00:00Z',
    notAfter: '2126-01-01T00:00:00Z',
  })
  const answers: Record<string, { code: number; body: string }> = {
    '/wrong': { code: 400, body: '{"kind":"Status","message":"a fault has no foo"}' },
    '/amount': { code: 422, body: 'available must be an amount' },
    '/absent': { code: 404, body: '{"kind":"Status","message":"nodes \\"x\\" not found"}' },
    '/elsewhere': { code: 404, body: '404 page not found\n' },
  }
  const server = createHttpsServer({ cert, key }, ({ url = '', headers }, response) => {
    const { code, body } = answers[url] ?? { code: 200, body: headers.authorization ?? '' }
    response.writeHead(code).end(body)
  })
  const access = await listen(t, server)
  const ask = (path: string) => openAnswer({ ...access, token: 'secret' }, { path })
  t.equal(await text(await ask('/')), 'Bearer secret')
  await t.rejects(ask('/wrong'), { exitCode: 2, message: 'a fault has no foo' })
  await t.rejects(ask('/amount'), { exitCode: 2, message: 'available must be an amount' })
  await t.rejects(ask('/absent'), { exitCode: 1, message: 'nodes "x" not found' })
  await t.rejects(ask('/elsewhere'), {
    exitCode: 1,
    message: /^https:\S+ is not a Kubestage API server: 404 page not found$/,
  })
})
