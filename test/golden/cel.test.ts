/** The verdict on 500 generated definitions, and each of its causes, beside a real server's: rules are estimated alike. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import t from 'tap'
import type { JSONSchemaProps } from '../../apiserver/schema/json-schema.ts'
import { definitionOf } from '../cel/definition-generator.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { type Answer, causesOf } from './cel/causes.ts'

const recorded = JSON.parse(readFileSync(new URL('cel/costs.json', import.meta.url), 'utf8')) as {
  schema: JSONSchemaProps
  causes: string[]
}[]
const url = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All'

t.test('estimated costs of generated rules', async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true, ...server.tls })
  t.teardown(() => agent.destroy())
  for (const [index, { schema, causes }] of recorded.entries()) {
    const { body } = await server.send(url, { method: 'POST', body: definitionOf(schema), agent })
    const found = causesOf(body as Answer)
    if (found.join('\n') !== causes.join('\n')) t.strictSame(found, causes, `definition ${index}`)
  }
  t.equal(recorded.length, 500)
  t.ok(recorded.filter(({ causes }) => causes.some((cause) => cause.includes('exceeds budget'))).length > 150)
})
