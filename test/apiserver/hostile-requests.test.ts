import { type ClientHttp2Session, connect } from 'node:http2'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

/** The code of an answer over HTTP/2, where a client may send what HTTP/1.1 has no words for; 0 when there was none. */
function codeOf(session: ClientHttp2Session, method: string, path: string, body?: string): Promise<number> {
  const stream = session.request({ ':method': method, ':path': path }, { endStream: body === undefined })
  let code = 0
  stream.on('response', (headers) => {
    code = headers[':status'] ?? 0
  })
  stream.on('error', () => {})
  stream.resume()
  if (body !== undefined) stream.end(body)
  return new Promise((resolve) => stream.on('close', () => resolve(code)))
}

t.test('whoever asks, the server lives on', async (t) => {
  const server = await startTestApiServer(t)
  const stranger = connect(`https://127.0.0.1:${server.port}`, { ca: server.tls.ca })
  t.teardown(() => stranger.destroy())
  t.equal(await codeOf(stranger, 'GET', '//[?pretty='), 403, 'a URL that is none')
  t.equal(await codeOf(stranger, 'GET', '/readyz'), 200)
})

t.test('answers for people: as they ask, in either version of HTTP', async (t) => {
  const { send } = await startTestApiServer(t)
  const linesOf = async (path: string, agent: string): Promise<number> =>
    (await send(path, { headers: { 'user-agent': agent } })).bytes.toString().trim().split('\n').length
  t.ok((await linesOf('/version?pretty=true', 'x')) > 1)
  t.equal(await linesOf('/version?pretty=false', 'curl/8'), 1)
  t.ok((await linesOf('/version', 'curl/8')) > 1)
})
