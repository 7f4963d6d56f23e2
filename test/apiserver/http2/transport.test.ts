import type { ClientHttp2Session } from 'node:http2'
import t from 'tap'

import { startTestApiServer } from '../../harness/api-server.ts'
import { httpsExchange } from '../../harness/https-exchange.ts'

const core = '/api/v1/namespaces/default'

const paths = [
  '/',
  '/foo',
  '//version',
  '/version',
  '/api',
  '/api/v1',
  '/api/v1/pods',
  '/api/v1//pods',
  '/api/v1/watch/pods',
  '/apis/none/v1/x',
  `${core}/pods`,
  `${core}/pods/`,
  `${core}/pods/x`,
  `${core}/pods/a%2Fb`,
  `${core}/pods/a%zz`,
  `${core}/pods/%ff`,
  `${core}/pods/x/status`,
  `${core}/pods/x/none`,
  `${core}/pods/x/log/more`,
  `${core}/pods/${'n'.repeat(5_000)}`,
  '/openapi/v3/none',
  '/healthz/ping',
  '/metrics/x',
  '/kubestage/v1/none',
]

interface Said {
  code: number
  body: string
}

function ask(session: ClientHttp2Session, method: string, path: string, headers: object = {}): Promise<Said> {
  const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: true })
  const said = { code: 0, body: '' }
  stream.setEncoding('utf8')
  stream.on('response', (head) => (said.code = head[':status'] ?? 0))
  stream.on('data', (part) => (said.body += part))
  return new Promise((resolve, reject) => {
    stream.on('error', reject)
    stream.on('close', () => resolve(said))
  })
}

t.test('what no route has is refused by the server, in either protocol, and never by its router', async (t) => {
  const server = await startTestApiServer(t)
  const session = server.session()
  for (const path of paths) {
    const expected = await ask(session, 'PROPFIND', path)
    for (const method of ['QUERY', 'LINK', 'FOO', 'get']) {
      // A message names the method.
      const { code } = await ask(session, method, path)
      t.equal(code, expected.code, `${method} ${path.slice(0, 60)}`)
    }
    for (const method of ['PROPFIND', 'QUERY', 'M-SEARCH']) {
      const { status } = await httpsExchange({ host: '127.0.0.1', port: server.port, ...server.tls, method, path })
      t.equal(status, expected.code, `${method} ${path.slice(0, 60)}, HTTP/1.1`)
    }
  }
})

t.test('a media type says nothing about a request without a body', async (t) => {
  const server = await startTestApiServer(t)
  const session = server.session()
  for (const path of paths.filter((one) => !one.includes('/watch/'))) {
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      // Of a collection, a DELETE deletes.
      if (method === 'DELETE' && /\/pods\/?$/.test(path)) continue
      const plain = await ask(session, method, path)
      const typed = await ask(session, method, path, { 'content-type': 'nonsense' })
      t.equal(typed.code, plain.code, `${method} ${path.slice(0, 60)}`)
    }
  }
})
