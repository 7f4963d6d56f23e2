/** What is said of a termination reason, or of its delivery, that is accepted and has no effect: a Warning header. */

import t from 'tap'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const pods = '/api/v1/namespaces/default/pods'
const ignored =
  'metadata.reason: it is ignored: the field "reason" of a DELETE\'s options sets it, or the annotation kubestage.dev/termination-reason'
const preStop = (reasonDelivery: object) => ({ exec: { command: ['true'] }, reasonDelivery })
const podOf = (name: string, reasonDelivery?: object) => ({
  metadata: { name },
  spec: {
    nodeName: 'n1',
    containers: [{ name: 'c', image: 'i', ...(reasonDelivery && { lifecycle: { preStop: preStop(reasonDelivery) } }) }],
  },
})
const kubelet = { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' }
const merge = { 'content-type': 'application/merge-patch+json' }

async function start(gates: Partial<FeatureGates> = {}) {
  const server = await startTestApiServer(t, gates)
  const write = async (path: string, body: object, method = 'POST', headers: Record<string, string> = {}) => {
    const answer = await server.send(path, { method, body, headers })
    t.ok(answer.status < 300, 'accepted', { answer })
    const texts = [answer.headers.warning ?? []].flat().join(', ')
    const warnings = [...texts.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
      text.replaceAll('\\"', '"'),
    )
    return { warnings, reason: (answer.body as { metadata: { reason?: string } }).metadata.reason }
  }
  return { server, write }
}

t.test('a reason that a client writes', async (t) => {
  const { server, write } = await start()
  const none = { warnings: [ignored], reason: undefined }
  const said = { metadata: { reason: 'mine' } }
  t.same(await write(pods, { ...podOf('p'), metadata: { name: 'p', ...said.metadata } }), none, 'create')
  t.same(await write(`${pods}/p`, said, 'PATCH', merge), none, 'patch')
  t.same(await write(`${pods}/p/status`, said, 'PATCH', merge), none, 'patch of the status')
  const apply = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', reason: 'mine' } }
  const how = { 'content-type': 'application/apply-patch+yaml' }
  t.same(await write(`${pods}/p?fieldManager=m`, apply, 'PATCH', how), none, 'apply')
  const map = { metadata: { name: 'm', reason: 'mine' } }
  t.same(await write('/api/v1/namespaces/default/configmaps', map), none, 'any kind')
  const template = { metadata: { labels: { a: 'b' }, reason: 'mine' }, spec: podOf('x').spec }
  delete (template.spec as { nodeName?: string }).nodeName
  const spec = { selector: { matchLabels: { a: 'b' } }, template }
  const deployments = '/apis/apps/v1/namespaces/default/deployments'
  const { warnings } = await write(deployments, { metadata: { name: 'd' }, spec })
  t.same(warnings, [`spec.template.${ignored}`], 'a template')

  await server.send(`${pods}/p`, { method: 'DELETE', body: { reason: 'Update', gracePeriodSeconds: 30 } })
  const { body } = await server.send(`${pods}/p`)
  t.same(
    await write(`${pods}/p`, body as object, 'PUT'),
    { warnings: [], reason: 'Update' },
    'what was read may be written',
  )
  t.same(await write(`${pods}/p`, said, 'PATCH', merge), { warnings: [ignored], reason: 'Update' }, 'another one not')
})

t.test('a kubelet says why it ends a pod', async (t) => {
  const { server, write } = await start()
  const evict = { metadata: { reason: 'Eviction' } }
  await write(pods, podOf('p'))
  await write(pods, podOf('q'))
  t.same(await write(`${pods}/p/status`, evict, 'PATCH', { ...merge, ...kubelet }), {
    warnings: [],
    reason: 'Eviction',
  })
  const other = { metadata: { reason: 'Other' } }
  const kept = { warnings: [ignored], reason: 'Eviction' }
  t.same(await write(`${pods}/p/status`, other, 'PATCH', { ...merge, ...kubelet }), kept, 'once')
  const long = { metadata: { reason: 'x'.repeat(2_000) } }
  const refused = { warnings: [ignored], reason: undefined }
  t.same(await write(`${pods}/q/status`, long, 'PATCH', { ...merge, ...kubelet }), refused, 'only what is a reason')
  await server.send(`${pods}/p`, { method: 'DELETE', body: { reason: 'Update' } })
  const { body } = await server.send(`${pods}/p`)
  t.match(body, { metadata: { reason: 'Update' } }, 'a deletion says its own')

  const gated = await start({ PodTerminationReason: false })
  await gated.write(pods, podOf('p'))
  t.same(
    await gated.write(`${pods}/p/status`, evict, 'PATCH', { ...merge, ...kubelet }),
    refused,
    'not with the gate off',
  )
})

t.test('a delivery that reaches no program', async (t) => {
  const { write } = await start()
  const at = 'spec.containers[0].lifecycle.preStop.reasonDelivery'
  const shell = (name: string) =>
    `${at}.env: no shell reads a variable of the name "${name}"; use letters, digits and underscores`
  const cases: [string, object, string[]][] = [
    ['a name that no shell reads', { env: 'A-B.c' }, [shell('A-B.c')]],
    ['another', { env: 'a.b' }, [shell('a.b')]],
    ['a good name', { env: '_WHY2' }, []],
    ['nothing', {}, [`${at}: sets neither "env" nor "header"; the reason is delivered by the default name`]],
  ]
  for (const [index, [name, delivery, expected]] of cases.entries()) {
    t.same((await write(pods, podOf(`p${index}`, delivery))).warnings, expected, name)
  }
})
