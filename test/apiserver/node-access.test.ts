import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { askAll, type Verdicts } from './node-access/ask.ts'
import { pod } from './node-access/world.ts'

/** Beyond upstream: the kubelet enforces NetworkPolicies. */
const otherVerdicts: Verdicts['authorizer'] = {
  namespaces: { refused: 'get create update patch delete deletecollection', allowed: 'list watch' },
}

const recorded = JSON.parse(readFileSync(new URL('node-access/verdicts.json', import.meta.url), 'utf8')) as Verdicts

t.test("a node's credentials may do what they may on a real server with Node,RBAC and NodeRestriction", async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const ours = await askAll((path, options) => server.send(path, { ...options, agent }))
  t.test('node authorizer', async (t) => {
    for (const [question, verdict] of Object.entries(recorded.authorizer))
      t.same(ours.authorizer[question], otherVerdicts[question] ?? verdict, question)
  })
  t.test('NodeRestriction', async (t) => {
    for (const [title, verdict] of Object.entries(recorded.requests)) t.same(ours.requests[title], verdict, title)
  })
})

t.test('a node records how its own pods ended, and nothing in the name of another node', async (t) => {
  const server = await startTestApiServer(t)
  const core = '/api/v1/namespaces/default'
  await server.send(`${core}/serviceaccounts`, { method: 'POST', body: { metadata: { name: 'robot' } } })
  const uids = new Map<string, string>()
  for (const nodeName of ['n1', 'n2']) {
    const { body } = await server.send(`${core}/pods`, { method: 'POST', body: pod(`on-${nodeName}`, { nodeName }) })
    uids.set(nodeName, (body as { metadata: { uid: string } }).metadata.uid)
  }
  const record = async (nodeName: string, podName: string, podUID: string | undefined): Promise<unknown> => {
    const headers = { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' }
    const body = { metadata: { generateName: 'e-' }, nodeName, podName, podUID }
    const path = '/apis/kubestage.dev/v1/namespaces/default/terminations'
    const answer = await server.send(path, { method: 'POST', headers, body })
    return answer.status === 201 ? answer.status : (answer.body as { message: string }).message
  }
  const refused = 'terminations.kubestage.dev "e-" is forbidden: can only create Termination'
  t.equal(await record('n1', 'on-n1', uids.get('n1')), 201)
  t.equal(await record('n1', 'gone', 'x'), 201, 'the pod may be gone')
  t.equal(await record('n2', 'on-n2', uids.get('n2')), `${refused} with the same nodeName as the requesting node`)
  t.equal(await record('n1', 'on-n2', uids.get('n2')), `${refused} of a pod bound to the requesting node`)
  const change = async (nodeName: string, body: object): Promise<number | string> => {
    const { items } = (await server.send('/apis/kubestage.dev/v1/terminations')).body as { items: Termination[] }
    const { name } = items.find(({ podName }) => podName === 'on-n1')?.metadata ?? {}
    const user = { 'impersonate-user': `system:node:${nodeName}`, 'impersonate-group': 'system:nodes' }
    const headers = { ...user, 'content-type': 'application/merge-patch+json' }
    const path = `/apis/kubestage.dev/v1/namespaces/default/terminations/${name}`
    const answer = await server.send(path, { method: 'PATCH', headers, body })
    return answer.status === 200 ? answer.status : (answer.body as { message: string }).message
  }
  const lost = { lostRequests: [{ kind: 'reset', count: 2 }] }
  t.equal(await change('n1', lost), 200, 'what was lost is known later')
  t.match(await change('n1', { reason: 'Another' }), /can only update lostRequests of a Termination/)
  t.match(await change('n2', lost), /can only update Termination with the same nodeName/)
})

t.test("a node reads what its network needs, and no more of other nodes' pods", async (t) => {
  const server = await startTestApiServer(t)
  const headers = { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' }
  const status = async (path: string): Promise<number> => (await server.send(path, { headers })).status
  t.equal(await status('/apis/networking.k8s.io/v1/networkpolicies'), 200)
  t.equal(await status('/apis/discovery.k8s.io/v1/endpointslices'), 200)
  t.equal(await status('/api/v1/namespaces'), 200)
  t.equal(await status('/api/v1/pods?fieldSelector=spec.hostNetwork%3Dfalse'), 200, 'those that policies can mean')
  t.equal(await status('/api/v1/pods'), 403)
  const selected = 'labelSelector=kubestage.dev%2Fpod-tunnel%3Dvxlan'
  t.equal(await status(`/api/v1/nodes?${selected}`), 200, 'those at the other ends of a tunnel')
  t.equal(await status('/api/v1/nodes'), 403)
  t.equal(await status('/api/v1/nodes?labelSelector=kubestage.dev%2Fpod-tunnel%21%3Dvxlan'), 403)
  t.equal(await status(`/api/v1/nodes/n2?${selected}`), 403)
  t.equal(await status('/api/v1/pods?fieldSelector=spec.hostNetwork%3Dtrue'), 403)
})
