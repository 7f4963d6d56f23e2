/** Clusters of one process have the limits that their options say, each its own. */
import t from 'tap'
import { limitOptions } from '../../apiserver/http/limits/limits.ts'
import type { ClusterLimits } from '../../library/index.ts'
import { limitsFrom } from '../../library/limits.ts'
import { namespace, start } from './stage.ts'

t.test('two clusters of one process refuse by their own limits', async (t) => {
  const apiOnly = { apiOnly: true, nodes: undefined }
  const tight = await start(t, { ...apiOnly, limits: { maxRequestBodyValues: 1_000, maxRequestBodyBytes: 65_536 } })
  const wide = await start(t, apiOnly)
  const url = `/api/v1/namespaces/${namespace}/configmaps`
  const post = (cluster: typeof tight, body: string) =>
    cluster.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: body })
  const values = `{"metadata":{"name":"values"},"a":[${'1,'.repeat(2_000)}1]}`
  const bytes = `{"metadata":{"name":"bytes"},"data":{"a":"${'x'.repeat(70_000)}"}}`
  for (const [body, message] of [
    [values, 'Request entity too large: limit is 1000 objects, lists and members of either'],
    [bytes, 'Request entity too large: limit is 65536'],
  ] as const) {
    const refused = await post(tight, body)
    t.match({ status: refused.statusCode, body: refused.json() }, { status: 413, body: { message } })
    t.equal((await post(wide, body)).statusCode, 201)
  }
})

t.test('every limit with a flag can be set; times are durations or milliseconds', (t) => {
  const all = Object.fromEntries(Object.entries(limitOptions).map(([name, option]) => [name, option.default]))
  t.same(limitsFrom(all as ClusterLimits), all)
  t.same(limitsFrom({ idleTimeout: '1m30s', unreadTimeout: 500 }), { idleTimeout: 90_000, unreadTimeout: 500 })
  t.same(limitsFrom({ maxCelSteps: undefined }), {})
  t.end()
})
