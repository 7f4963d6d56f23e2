import t from 'tap'
import { boundSpec } from '../../apiserver/http/subresources/bound-spec.ts'
import { frozenOf, knownJson } from '../../apiserver/values/recurring.ts'
import type { Pod, PodSpec } from '../../shared/api/types.ts'
import { startTestApiServer } from '../harness/api-server.ts'

t.test('pods of one template share their specs after a binding, too', async (t) => {
  const spec = frozenOf<PodSpec>('{"containers":[{"name":"main","image":"busybox"}],"restartPolicy":"Always"}')
  const [one, two] = [boundSpec(spec, 'one'), boundSpec(spec, 'two')]
  t.same(one, { ...spec, nodeName: 'one' })
  t.same(two, { ...spec, nodeName: 'two' })
  t.equal(boundSpec(spec, 'one'), one)
  t.equal(knownJson(one), JSON.stringify({ ...spec, nodeName: 'one' }))
  t.throws(() => {
    one.nodeName = 'three'
  }, 'it is frozen')
  for (let i = 0; i < 1_100; i++) boundSpec(spec, `node-${i}`)
  t.same(boundSpec(spec, 'one'), one, 'what was forgotten is made again')
})

t.test("a spec of which nothing is known is the pod's own", async (t) => {
  const spec: PodSpec = { containers: [] }
  const bound = boundSpec(spec, 'one')
  t.same(bound, { containers: [], nodeName: 'one' })
  t.not(boundSpec(spec, 'one'), bound)
})

t.test('each pod of a template goes to the node that its binding names', async (t) => {
  const server = await startTestApiServer(t)
  const path = '/api/v1/namespaces/default/pods'
  const post = (url: string, body: object) => server.send(url, { method: 'POST', body })
  const containers = [{ name: 'main', image: 'busybox', args: Array.from({ length: 100 }, (_, i) => `argument ${i}`) }]
  const pods: Pod[] = []
  for (let i = 0; i < 12; i++) {
    await post(path, { metadata: { name: `p-${i}` }, spec: { containers } })
    const before = (await server.send(`${path}/p-${i}`)).body as Pod
    const target = { kind: 'Node', name: `node-${i % 3}` }
    t.equal((await post(`${path}/p-${i}/binding`, { metadata: { name: `p-${i}` }, target })).status, 201)
    const status = { phase: 'Running', podIP: `10.0.0.${i}` }
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server.send(`${path}/p-${i}/status`, { method: 'PATCH', body: { status }, headers })
    const after = (await server.send(`${path}/p-${i}`)).body as Pod
    t.same(after.spec, { ...before.spec, nodeName: target.name })
    t.equal(after.metadata.generation, before.metadata.generation)
    t.match(after.status, { ...status, conditions: [{ type: 'PodScheduled', status: 'True' }] })
    pods.push(after)
  }
  const { items } = (await server.send(`${path}?fieldSelector=spec.nodeName=node-1`)).body as { items: Pod[] }
  t.same(
    items.map(({ metadata }) => metadata.name),
    ['p-1', 'p-10', 'p-4', 'p-7'],
  )
  for (const { metadata, spec } of pods) {
    const { body } = await server.send(`${path}/${metadata.name}`, { method: 'DELETE' })
    t.same((body as Pod).spec, spec, 'the answer to a deletion has the spec')
    t.ok((body as Pod).metadata.deletionTimestamp)
  }
})
