/** What the OpenAPI documents say of custom resources, held against those of a real server (v1.36.3) with the same definitions. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

interface Recorded {
  crds: { spec: { names: { plural: string } } }[]
  v2: Record<string, object>
  v3: Record<string, object>
}
const { crds, v2, v3 } = JSON.parse(readFileSync(new URL('custom-resources.json', import.meta.url), 'utf8')) as Recorded

const server = await startTestApiServer(t)
for (const body of crds) {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await server.send(path, { method: 'POST', body })
  const { plural } = body.spec.names
  await until(async () => (await server.send(`/apis/example.com/v1/${plural}`)).status === 200, { what: plural })
}

t.test('OpenAPI 3: rules, integers or strings, embedded resources', async (t) => {
  const { body } = await server.send('/openapi/v3/apis/example.com/v1')
  const { schemas } = (body as { components: { schemas: Record<string, object> } }).components
  for (const [name, schema] of Object.entries(v3)) t.strictSame(schemas[name], schema, name)
})

t.test('OpenAPI 2: what keeps unknown fields at its root is an object, and nothing more', async (t) => {
  const { definitions } = (await server.send('/openapi/v2')).body as { definitions: Record<string, object> }
  for (const [name, schema] of Object.entries(v2)) t.strictSame(definitions[name], schema, name)
})
