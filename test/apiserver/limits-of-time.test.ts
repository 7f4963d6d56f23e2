/** A limit of time holds when it is over, and not when somebody next looks. */
import { once } from 'node:events'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { END_HEADERS, frame, HEADERS, head, preface, RawClient, requestFields, settings } from './http2/raw-client.ts'

const timeoutMs = 3_000
/** Looked for four times per timeout, a request was late by up to 750 ms. */
const mostLateMs = 400

async function open(t: Test, { port, tls }: TestApiServer, protocol: string): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ...tls, ALPNProtocols: [protocol] })
  t.teardown(() => socket.destroy())
  await once(
    socket.on('error', () => {}),
    'secureConnect',
  )
  return socket
}

for (const http2 of ['own', 'node'] as const) {
  t.test(`HTTP/2 (${http2}): a body that is not sent ends a request as soon as the one before it`, async (t) => {
    const server = await startTestApiServer(t, {}, undefined, { requestReadTimeout: timeoutMs }, { http2 })
    const raw = new RawClient(await open(t, server, 'h2'))
    raw.send(preface, settings())
    const lives: Promise<number>[] = []
    for (const id of [1, 3]) {
      const begunMs = realClock.monotonic()
      raw.send(frame(HEADERS, END_HEADERS, id, head(requestFields('POST', '/api/v1/namespaces/default/configmaps'))))
      await raw.isAlive()
      await realClock.sleep(50)
      lives.push(raw.errorCode(id).then(() => realClock.monotonic() - begunMs))
    }
    const [first = 0, second = 0] = await Promise.all(lives)
    t.ok(
      second - first < timeoutMs / 2,
      `the first lived for ${first.toFixed()} ms, the second for ${second.toFixed()}`,
    )
  })
}

t.test('HTTP/1.1: heads that never end are late by a part of a second at the most', async (t) => {
  const server = await startTestApiServer(t, {}, undefined, { requestReadTimeout: timeoutMs })
  const lives: Promise<number>[] = []
  for (let count = 0; count < 4; count++) {
    const socket = await open(t, server, 'http/1.1')
    const begunMs = realClock.monotonic()
    socket.write('GET /version HTTP/1.1\r\nx-a: ')
    lives.push(once(socket, 'data').then(() => realClock.monotonic() - begunMs))
    await realClock.sleep(timeoutMs / 16)
  }
  const late = (await Promise.all(lives)).map((ms) => Math.round(ms - timeoutMs))
  t.ok(Math.max(...late) < mostLateMs, `late by ${late} ms`)
})
