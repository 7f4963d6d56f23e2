/** Names that every JavaScript object inherits are names like any other, wherever a client may write one. */
import t from 'tap'
import { resources } from '../../apiserver/resources/index.ts'
import { DecodeError } from '../../apiserver/validation/decoder.ts'
import type { ValueType } from '../../openapi/types.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { exampleWith, fieldsOf } from '../harness/fields.ts'

const inherited = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']

const server = await startTestApiServer(t)
const admin = server.client({ name: 'admin', groups: ['system:masters'] })
const seen = new Set<string>()
let count = 0

function values({ kind, item }: ValueType): unknown[] {
  if (kind === 'string' || kind === 'Quantity' || kind === 'IntOrString') return inherited
  if (kind === 'list' && item?.kind === 'string') return [inherited]
  if (kind !== 'map') return []
  const value =
    item?.kind === 'string' ? 'constructor' : item?.kind === 'Quantity' ? '1' : item?.kind === 'list' ? [] : {}
  return [JSON.parse(`{${inherited.map((name) => `"${name}":${JSON.stringify(value)}`).join(',')}}`)]
}

/** What is wrong with the server's answer to such an object. */
async function problem(kind: (typeof resources)[number], path: readonly string[], value: unknown): Promise<string[]> {
  const object = exampleWith(kind, `inherited-${count++}`, { path, value })
  try {
    await admin.create(kind, object as never)
    return []
  } catch (error) {
    if (error instanceof DecodeError || (error instanceof StatusError && error.code < 500)) return []
    return [`${kind.kind} ${path.join('.')}=${JSON.stringify(value)}: ${(error as Error).stack}`]
  }
}

for (const kind of resources) {
  if (kind.verbs && !kind.verbs.includes('create')) continue
  const fields = fieldsOf(kind.schema, seen).flatMap(({ path, type }) => values(type).map((value) => ({ path, value })))
  if (fields.length === 0) continue
  t.test(`${kind.kind}.${kind.version}.${kind.group}: ${fields.length} values`, async (t) => {
    const problems: string[] = []
    for (const { path, value } of fields) problems.push(...(await problem(kind, path, value)))
    t.same(problems, [])
  })
}

t.test('a limit, a quota and a request of a resource with such a name', async (t) => {
  const limits = [{ type: 'Container', max: JSON.parse('{"constructor":"1","__proto__":"1","cpu":"1"}') }]
  const range = { metadata: { name: 'inherited' }, spec: { limits } }
  await server.send('/api/v1/namespaces/default/limitranges', { method: 'POST', body: range })
  const hard = JSON.parse('{"constructor":"1","requests.__proto__":"1","count/constructor":"1","pods":"9"}')
  await server.send('/api/v1/namespaces/default/resourcequotas', {
    method: 'POST',
    body: { metadata: { name: 'inherited' }, spec: { hard } },
  })
  for (const name of inherited) {
    const resources = { requests: JSON.parse(`{"${name}":"1"}`), limits: JSON.parse(`{"${name}":"1"}`) }
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources }] } }
    const { status } = await server.send('/api/v1/namespaces/default/pods', { method: 'POST', body: pod })
    t.ok(status < 500, `${name}: ${status}`)
  }
})

t.test('an inherited name is no label', async (t) => {
  const server = await startTestApiServer(t)
  const pods = '/api/v1/namespaces/default/pods'
  const pod = { metadata: { name: 'unlabelled' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  t.equal((await server.send(pods, { method: 'POST', body: pod })).status, 201)
  for (const name of ['constructor', 'toString', 'valueOf']) {
    const { body } = await server.send(`${pods}?labelSelector=${name}&fieldSelector=metadata.name=unlabelled`)
    t.same((body as { items: object[] }).items, [], name)
  }
})

t.test('apply of an object whose namespace is no text: 500, as a real server says it', async (t) => {
  for (const [namespace, value] of [
    [{}, 'map[string]interface {}{}'],
    [[], '[]interface {}{}'],
    [1, '1'],
    [true, 'true'],
  ]) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', namespace } }
    const answer = await server.send('/api/v1/namespaces/default/configmaps/m?fieldManager=f', {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    })
    const typed = 'failed to create typed patch object (/m; /v1, Kind=ConfigMap): .metadata.namespace: expected string'
    t.match(answer.body, { code: 500, message: `${typed}, got &value.valueUnstructured{Value:${value}}` })
  }
})
