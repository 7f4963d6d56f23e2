// Run with --max-old-space-size: fills the heap of an API server in this process, and prints as JSON what it answers.
import { getHeapStatistics } from 'node:v8'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const path = '/api/v1/namespaces/default/configmaps'

t.test('a heap that is nearly full', async (t) => {
  const server = await startTestApiServer(t)
  const list = () => server.send(path)
  t.equal((await server.send(path, { method: 'POST', body: { metadata: { name: 'one' } } })).status, 201)
  t.equal((await list()).status, 200)
  // Young objects have 3 × 8 MB of their own.
  const limit = getHeapStatistics().heap_size_limit - 24 * 1024 * 1024
  const ballast: number[][] = []
  while (getHeapStatistics().used_heap_size < 0.85 * limit) ballast.push(new Array(50_000).fill(0.5))
  const refused = await list()
  t.equal(refused.status, 429)
  t.equal(refused.headers['retry-after'], '1')
  t.match(refused.body, {
    reason: 'TooManyRequests',
    message: /; start it with NODE_OPTIONS=--max-old-space-size=320 /,
  })
  t.equal((await server.send(`${path}/one`)).status, 200, 'one object is still served')
  t.equal((await server.send('/readyz')).status, 200)
  t.equal((await server.send(`${path}/one`, { method: 'DELETE' })).status, 200)
  t.match(String((await server.send('/metrics')).body), /^kubestage_limits_reached_total\{limit="heap"\} [1-9]/m)
  ballast.length = 0
  globalThis.gc?.()
  t.equal((await list()).status, 200)
})
