/** Every way to give a reason with a request, and what each of them refuses. */
import t from 'tap'
import type { StatusError } from '../../shared/api/status/status-error.ts'
import { pods as podResource } from '../../shared/client/resources.ts'
import { type Received, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'

const pods = '/api/v1/namespaces/default/pods'
type Answer = Pick<Received, 'status' | 'body'> & { headers?: Received['headers'] }
type Metadata = { metadata: { reason?: string; deletionTimestamp?: string } }

const server = await startTestApiServer(t)
const { send } = server
const admin = server.client({ name: 'admin', groups: ['system:masters'] })

const create = (name: string, annotations?: object, to = send) =>
  to(pods, {
    method: 'POST',
    body: {
      metadata: { name, labels: { name }, annotations },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    },
  })
const query = (reason: string) => `reason=${reason.isWellFormed() ? encodeURIComponent(reason) : '%ED%A0%80'}`
const prefix = (reason: string) => `/kubestage-reason-${Buffer.from(reason).toString('base64url')}`

/** Each gives a pod's deletion a reason. */
const doorsOf = (send: TestApiServer['send']): Record<string, (name: string, reason: string) => Promise<Answer>> => {
  const remove = (path: string, body?: object | string, headers?: Record<string, string>) =>
    send(path, { method: 'DELETE', body, headers })
  const evict = (name: string, path: string, deleteOptions?: object) =>
    send(path, { method: 'POST', body: { metadata: { name }, deleteOptions } })
  return {
    'a body': (name, reason) => remove(`${pods}/${name}`, { reason }),
    'a body, over a query': (name, reason) => remove(`${pods}/${name}?reason=Update`, { reason }),
    'a body in YAML': (name, reason) =>
      remove(`${pods}/${name}`, `reason: ${JSON.stringify(reason)}`, { 'content-type': 'application/yaml' }),
    'a query': (name, reason) => remove(`${pods}/${name}?${query(reason)}`),
    'a query beside a body': (name, reason) => remove(`${pods}/${name}?${query(reason)}`, { gracePeriodSeconds: 9 }),
    'the address of the server': (name, reason) => remove(`${prefix(reason)}${pods}/${name}`),
    'the body for a collection': (name, reason) => remove(`${pods}?labelSelector=name%3D${name}`, { reason }),
    'the query for a collection': (name, reason) => remove(`${pods}?labelSelector=name%3D${name}&${query(reason)}`),
    'an eviction': (name, reason) => evict(name, `${pods}/${name}/eviction`, { reason }),
    'the query of an eviction': (name, reason) => evict(name, `${pods}/${name}/eviction?${query(reason)}`),
    'the address, for an eviction': (name, reason) => evict(name, `${prefix(reason)}${pods}/${name}/eviction`),
  }
}
const doors = {
  ...doorsOf(send),
  'a client within the process': async (name: string, reason: string): Promise<Answer> => {
    const refusal = await admin.delete(podResource, { namespace: 'default', name }, { reason }).then(
      () => undefined,
      (error: StatusError) => error,
    )
    return { status: refusal?.code ?? 200, body: refusal?.status }
  },
}

const bad: Record<string, string> = {
  nothing: '',
  'a line break': 'two\nlines',
  'more than 1,024 bytes': 'ö'.repeat(513),
  'blanks only': ' \u00a0\u3000 ',
  'half a character': 'half of \ud83d',
}

for (const [door, give] of Object.entries(doors)) {
  t.test(door, async (t) => {
    const name = door.replace(/\W+/g, '-').toLowerCase()
    await create(name)
    const metadata = async () => ((await send(`${pods}/${name}`)).body as Metadata).metadata
    for (const [what, reason] of Object.entries(bad)) {
      const refusal = {
        status: 422,
        body: { code: 422, reason: 'Invalid', details: { causes: [{ field: 'reason' }] } },
      }
      t.match(await give(name, reason), refusal, what)
    }
    t.equal((await metadata()).deletionTimestamp, undefined, 'the pod is not deleted')
    const reason = `größe "x" → 変更`
    t.ok((await give(name, reason)).status < 300)
    t.equal((await metadata()).reason, reason)
  })
}

t.test('null is no reason, and an object has none of its own', async (t) => {
  await create('null')
  await send(`${pods}/null?reason=Update`, { method: 'DELETE', body: { reason: null } })
  t.equal(((await send(`${pods}/null`)).body as Metadata).metadata.reason, 'Update')
  const given = { metadata: { name: 'own', reason: 'mine' } }
  const { body } = await send('/api/v1/namespaces/default/configmaps', { method: 'POST', body: given })
  t.equal((body as Metadata).metadata.reason, undefined)
})

const annotation = 'kubestage.dev/termination-reason'
const warning = ({ headers }: Answer) => String(headers?.warning ?? '')

t.test('a reason that is lost since the gate is off is told by a Warning', async (t) => {
  const { send } = await startTestApiServer(t, { PodTerminationReason: false })
  for (const [door, give] of Object.entries(doorsOf(send))) {
    const name = door.replace(/\W+/g, '-').toLowerCase()
    await create(name, {}, send)
    t.match(
      warning(await give(name, 'Update')),
      /reason is ignored: the feature gate PodTerminationReason is off/,
      door,
    )
    const { metadata } = (await send(`${pods}/${name}`)).body as Metadata
    t.match(metadata, { deletionTimestamp: String, reason: undefined }, door)
  }
  await create('annotated', { [annotation]: 'Update' }, send)
  t.match(warning(await send(`${pods}/annotated`, { method: 'DELETE' })), /termination-reason.*is ignored.*gate/)
  await create('silent', {}, send)
  t.equal(warning(await send(`${pods}/silent`, { method: 'DELETE' })), '', 'no reason, no warning')
})

t.test('an annotation that is no reason is told by a Warning, and the delete goes on without it', async (t) => {
  for (const [what, reason] of Object.entries(bad)) {
    const name = `annotation-${what.replace(/\W+/g, '-')}`
    const said = /annotations\[kubestage.dev\/termination-reason\]: Invalid value: .*; it is not used as the reason/
    const make = () => create(name, { [annotation]: reason })
    const reasonNow = async () => ((await send(`${pods}/${name}`)).body as Metadata).metadata.reason
    const end = () => send(`${pods}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })
    await make()
    const deleted = await send(`${pods}/${name}`, { method: 'DELETE' })
    t.match([deleted.status, warning(deleted)], [200, said], `${what}, a delete`)
    t.equal(await reasonNow(), undefined)
    await end()
    await make()
    t.match(warning(await send(`${pods}?labelSelector=name%3D${name}`, { method: 'DELETE' })), said, `${what}, of many`)
    await end()
    await make()
    const evicted = await send(`${pods}/${name}/eviction`, { method: 'POST', body: { metadata: { name } } })
    t.match([evicted.status, warning(evicted)], [201, said], `${what}, an eviction`)
    t.equal(await reasonNow(), 'Eviction')
    await end()
    await create(name)
    const own = { metadata: { name, annotations: { [annotation]: reason } } }
    t.match(
      warning(await send(`${pods}/${name}/eviction`, { method: 'POST', body: own })),
      said,
      `${what}, on an Eviction`,
    )
    await end()
    await make()
    t.equal(warning(await send(`${pods}/${name}?reason=Update`, { method: 'DELETE' })), '', 'a reason that counts more')
    await end()
  }
})
