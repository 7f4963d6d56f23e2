import t from 'tap'
import { withReason } from '../../apiserver/http/reason-prefix.ts'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { podOf } from '../harness/pods.ts'

const namespace = 'default'

t.test('a reason in the address of the server', (t) => {
  const prefix = `/kubestage-reason-${Buffer.from('a b&c').toString('base64url')}`
  const urls: [method: string, url: string, meant: string][] = [
    ['DELETE', `${prefix}/api/v1/pods/web`, '/api/v1/pods/web?reason=a%20b%26c'],
    ['DELETE', `${prefix}/api/v1/pods?limit=1`, '/api/v1/pods?limit=1&reason=a%20b%26c'],
    [
      'POST',
      `${prefix}/api/v1/namespaces/n/pods/web/eviction`,
      '/api/v1/namespaces/n/pods/web/eviction?reason=a%20b%26c',
    ],
    ['POST', `${prefix}/api/v1/namespaces/n/pods`, '/api/v1/namespaces/n/pods'],
    ['GET', `${prefix}/api/v1/pods?watch=1`, '/api/v1/pods?watch=1'],
    ['DELETE', '/kubestage-reason-/api/v1/pods/web', '/api/v1/pods/web?reason='],
    ['GET', '/kubestage-reason-x', '/kubestage-reason-x'],
    ['DELETE', '/api/v1/pods/web', '/api/v1/pods/web'],
  ]
  for (const [method, url, meant] of urls) t.equal(withReason(method, url), meant)
  t.end()
})

t.test('the user of a request is set by the server, not by the record', async (t) => {
  const server = await startTestApiServer(t)
  const admin = server.client({ name: 'jane', groups: ['system:masters'] })
  const kubelet = server.client({ name: 'system:node:node-1', groups: ['system:nodes'] })
  const create = async (name: string): Promise<Pod> => {
    const pod = podOf({ name, command: ['true'], spec: { nodeName: 'node-1' } })
    return admin.create<Pod>(pods, pod, { namespace })
  }
  const { uid = '' } = (await create('web')).metadata
  await admin.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 20, reason: 'Update' })
  await admin.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 20 })
  await admin.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 5 })
  const claim = [{ user: 'nobody', time: '2026-01-01T00:00:00Z' }]
  const record = { metadata: { name: 'web.1' }, podName: 'web', podUID: uid, nodeName: 'node-1', requests: claim }
  const created = await kubelet.create<Termination>(terminations, record, { namespace })
  t.match(created.requests, [
    { user: 'jane', gracePeriodSeconds: 20, reason: 'Update' },
    { user: 'jane', gracePeriodSeconds: 5 },
  ])
  t.equal(created.requests?.length, 2, 'a request that changed nothing is none')
  const forged = { ...created, requests: claim }
  t.same((await admin.update<Termination>(terminations, forged)).requests, created.requests)

  await kubelet.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 0 })
  const again = { metadata: { name: 'web.2' }, podName: 'web', podUID: uid, nodeName: 'node-1' }
  const { requests } = await kubelet.create<Termination>(terminations, again, { namespace })
  t.same(requests, created.requests, 'the kubelet’s own last word is none either')

  const unasked = {
    metadata: { name: 'other.1' },
    podName: 'other',
    podUID: 'unknown',
    nodeName: 'node-1',
    requests: claim,
  }
  t.equal((await kubelet.create<Termination>(terminations, unasked, { namespace })).requests, undefined)
})

t.test('when new connections stopped is read off the endpoint slices', async (t) => {
  const server = await startTestApiServer(t)
  const admin = server.client({ name: 'jane', groups: ['system:masters'] })
  const slices = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices' }
  const start = async (name: string): Promise<string> => {
    const pod = podOf({ name, command: ['true'], spec: { nodeName: 'node-1' } })
    return (await admin.create<Pod>(pods, pod, { namespace })).metadata.uid ?? ''
  }
  const endpoint = (uid: string, conditions: object) => ({
    addresses: ['127.64.0.1'],
    conditions,
    targetRef: { kind: 'Pod', namespace, name: 'any', uid },
  })
  const slice = (endpoints: object[]) => ({
    metadata: { name: 'web-1', namespace, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints,
  })
  const stepsOf = async (podUID: string, name: string) =>
    (await admin.create<Termination>(terminations, { metadata: { name }, podUID }, { namespace })).steps

  const [deleted, unready, kept] = [await start('deleted'), await start('unready'), await start('kept')]
  await admin.create(slices, slice([deleted, unready, kept].map((uid) => endpoint(uid, { ready: true }))), {
    namespace,
  })
  t.equal(await stepsOf(kept, 'kept.1'), undefined, 'it is still there')

  await admin.delete(pods, { namespace, name: 'deleted' })
  const terminating = { ready: false, serving: true, terminating: true }
  const changed = [endpoint(deleted, terminating), endpoint(unready, { ready: true }), endpoint(kept, { ready: true })]
  await admin.update(slices, slice(changed))
  t.match(await stepsOf(deleted, 'deleted.1'), [{ name: 'EndpointRemoved', message: 'service web' }])
  const [{ startTime = '', endTime = '' } = {}] = (await stepsOf(deleted, 'deleted.2')) ?? []
  t.ok(startTime <= endTime, 'from the request to the removal')

  await admin.delete(slices, { namespace, name: 'web-1' })
  const later = toMicroTime(Date.parse(endTime) + 60_000)
  const record = { metadata: { name: 'unready.1' }, podUID: unready, startTime: later }
  const { steps } = await admin.create<Termination>(terminations, record, { namespace })
  t.equal(steps, undefined, 'what happened before the end began is no step of it')
  t.match(
    (
      await admin.create<Termination>(
        terminations,
        { ...record, metadata: { name: 'unready.2' }, startTime },
        { namespace },
      )
    ).steps,
    [{ name: 'EndpointRemoved' }],
    'a slice that goes takes its endpoints along',
  )
})

t.test('terminations are selected by reason, cause, verdict, user and workload', async (t) => {
  const server = await startTestApiServer(t)
  const jane = server.client({ name: 'jane', groups: ['system:masters'] })
  const kubelet = server.client({ name: 'system:node:node-1', groups: ['system:nodes'] })
  const pod = podOf({ name: 'web', command: ['true'], spec: { nodeName: 'node-1' } })
  const { uid } = (await jane.create<Pod>(pods, pod, { namespace })).metadata
  await jane.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 20, reason: 'Update' })
  const nodeName = 'node-1'
  const common = {
    podName: 'web',
    nodeName,
    cause: 'PodDeleted',
    verdict: 'stopped in 0.1 s of 20 s',
    verdictType: 'Stopped',
  }
  const workload = 'Deployment/web'
  const records = [
    { metadata: { name: 'a' }, ...common, podUID: uid, reason: 'Update', workload },
    { metadata: { name: 'b' }, ...common, cause: 'LivenessProbe', verdictType: 'NoHandler' },
    { metadata: { name: 'c' }, ...common, reason: 'a=b,c\\d' },
  ]
  for (const record of records) await kubelet.create(terminations, record, { namespace })
  const cases: [fieldSelector: string, names: string][] = [
    ['reason=Update', 'a'],
    ['reason=', 'b'],
    ['reason=a\\=b\\,c\\\\d', 'c'],
    ['cause=LivenessProbe', 'b'],
    ['verdict=Stopped', 'ac'],
    ['verdict!=Stopped', 'b'],
    ['user=jane', 'a'],
    ['user=', 'bc'],
    ['workload=Deployment/web', 'a'],
    ['cause=PodDeleted,reason!=Update', 'c'],
  ]
  for (const [fieldSelector, names] of cases) {
    const { items } = await jane.list<Termination>(terminations, { namespace, fieldSelector })
    t.equal(items.map(({ metadata }) => metadata.name).join(''), names, fieldSelector)
  }
  const refusal = await jane.list(terminations, { namespace, fieldSelector: 'colour=red' }).catch((error) => error)
  t.match((refusal as StatusError).status, { code: 400, message: 'field label not supported: colour' })
})
