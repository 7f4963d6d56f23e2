/** Records what a new, real server without controllers answers: node test/golden/updates/record.ts KUBECONFIG.json */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Definitions, digest } from '../fields/cases.ts'
import { RealServer } from '../fields/real-server.ts'
import { Player, type Send } from './play.ts'

using server = new RealServer()
const send: Send = async ({ method, path, body, headers }) => {
  const { status, warning, text } = await server.send(method, path, body, headers)
  return { status, warning, body: JSON.parse(text) }
}
const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
await server.send('POST', '/api/v1/namespaces/default/serviceaccounts', account)
const { definitions } = JSON.parse((await server.send('GET', '/openapi/v2')).text) as { definitions: Definitions }
const answers: { [object: string]: { [field: string]: string } } = {}
for await (const { object, field, answer } of new Player(send, definitions).answers()) {
  const digests = (answers[object] ??= {})
  digests[field] = digests[field] === undefined ? digest(answer) : `${digests[field]} ${digest(answer)}`
}
writeFileSync(join(import.meta.dirname, 'answers.json'), `${JSON.stringify(answers, null, 1)}\n`)
