import { once } from 'node:events'
import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { KubeObject, WatchEvent } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'
import { type Answer, startWebhookServer } from '../harness/webhook-server.ts'

const group = 'ships.example.com'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const shipsOf = (version: string) => `/apis/${group}/${version}/namespaces/default/ships`
type Ship = KubeObject & { spec: { size?: string; length?: number } }

/** v1 says `size: "3"`, v2 `length: 3`. */
const convert: Answer = (review) => {
  const { uid, desiredAPIVersion, objects } = review.request as {
    uid: string
    desiredAPIVersion: string
    objects: Ship[]
  }
  const convertedObjects = objects.map((object) => {
    const { size, length } = object.spec
    const spec = desiredAPIVersion.endsWith('v1') ? { size: String(length) } : { length: Number(size) }
    return { ...object, apiVersion: desiredAPIVersion, spec }
  })
  return { ...review, request: undefined, response: { uid, result: { status: 'Success' }, convertedObjects } }
}

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage, like })
}

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else
  t.test('versions of a custom resource that a webhook converts, at two API servers', async (t) => {
    const { url } = await startEtcd(t, program)
    const hooks = await startWebhookServer(t)
    hooks.answers.set('/convert', convert)
    const a = await startServer(t, url)
    const schema = (properties: object) => ({
      openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
    })
    await a.send(definitions, {
      method: 'POST',
      body: {
        metadata: { name: `ships.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural: 'ships', kind: 'Ship' },
          versions: [
            { name: 'v1', served: true, storage: false, schema: schema({ size: { type: 'string' } }) },
            { name: 'v2', served: true, storage: true, schema: schema({ length: { type: 'integer' } }) },
          ],
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: ['v1'], clientConfig: hooks.clientConfig('/convert') },
          },
        },
      },
    })
    await until(async () => (await a.send(shipsOf('v1'))).status === 200, { what: 'the ships to be served' })
    const b = await startServer(t, url, a)
    const write = async (method: string, name: string, length = 0): Promise<string> => {
      const path = method === 'POST' ? shipsOf('v2') : `${shipsOf('v2')}/${name}`
      const ship = { apiVersion: `${group}/v2`, kind: 'Ship', metadata: { name }, spec: { length } }
      const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : undefined
      const { status, body } = await a.send(path, { method, headers, body: method === 'DELETE' ? undefined : ship })
      t.ok(status < 300, `${method} ${name}: ${status}`)
      return (body as Ship).metadata.resourceVersion ?? ''
    }
    const watch = async (version: string, query: string) => {
      const session = b.session()
      const stream = session.request({ ':path': `${shipsOf(version)}?watch=true&${query}` })
      const seen: string[] = []
      let rest = ''
      let hasEnded = false
      stream.setEncoding('utf8').on('data', (part: string) => {
        const lines = (rest + part).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as WatchEvent<Ship>
          seen.push(object ? `${type} ${object.metadata?.name} ${JSON.stringify(object.spec)}` : line)
        }
      })
      stream.on('end', () => (hasEnded = true))
      t.teardown(() => session.destroy())
      await once(stream, 'response')
      return { seen, hasEnded: () => hasEnded }
    }

    const one = async (server: TestApiServer, name: string) =>
      (await server.send(`${shipsOf('v1')}/${name}`)).body as Ship
    const first = await write('POST', 'first', 1)
    await until(async () => (await b.send(`${shipsOf('v1')}/first`)).status === 200, { what: 'the ship' })
    await t.test('a watch at one shows what is written at the other, in its version, and goes on', async (t) => {
      const { seen, hasEnded } = await watch('v1', `resourceVersion=${first}`)
      for (let length = 2; length < 22; length++) await write('PATCH', 'first', length)
      await write('POST', 'second', 7)
      await write('DELETE', 'second')
      await write('DELETE', 'first')
      await until(() => seen.length >= 23 || hasEnded(), { what: 'the events' })
      t.same(seen, [
        ...Array.from({ length: 20 }, (_, index) => `MODIFIED first {"size":"${index + 2}"}`),
        'ADDED second {"size":"7"}',
        'DELETED second {"size":"7"}',
        'DELETED first {"size":"21"}',
      ])
      t.notOk(hasEnded())
    })

    await t.test('a watch that resumes gets the same, and a list waits for it', async (t) => {
      const { seen } = await watch('v1', `resourceVersion=${first}`)
      await until(() => seen.length >= 23, { what: 'the events' })
      t.equal(seen[0], 'MODIFIED first {"size":"2"}')
      for (let length = 1; length <= 5; length++) {
        await write('POST', `listed-${length}`, length)
        const { body } = await b.send(shipsOf('v1'))
        const sizes = (body as { items: Ship[] }).items.map(({ spec }) => spec.size)
        t.same(
          sizes,
          Array.from({ length }, (_, index) => String(index + 1)),
        )
      }
    })

    await t.test('a read has an end while the other goes on writing, and never shows another version', async (t) => {
      hooks.answers.set('/convert', (review, request, response) => {
        realClock.setTimer(20, () => response.end(JSON.stringify(convert(review, request, response))))
        return undefined
      })
      let isOver = false
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        await write('POST', `busy-${writer}`, 1)
        for (let length = 2; !isOver; length++) await write('PATCH', `busy-${writer}`, length)
      })
      await until(async () => (await b.send(`${shipsOf('v2')}/busy-7`)).status === 200, { what: 'the writers' })
      const label = (name: string, round: number) =>
        b.send(`${shipsOf('v1')}/${name}`, {
          method: 'PATCH',
          headers: { 'content-type': 'application/merge-patch+json' },
          body: { metadata: { labels: { round: String(round) } } },
        })
      for (let round = 0; round < 3; round++) {
        const { status, body } = await b.send(shipsOf('v1'))
        t.equal(status, 200)
        t.ok((body as { items: Ship[] }).items.every(({ spec }) => spec.size !== undefined && !('length' in spec)))
        // Another version of a ship that is written all the time would come first for as long as a request may take.
        const { metadata } = await one(b, 'listed-1')
        const [changed] = await Promise.all([label('listed-1', round), write('PATCH', 'listed-1', 10 + round)])
        t.equal(changed.status, 200, 'a patch that another server overtakes is tried again')
        t.ok(Number((changed.body as Ship).metadata.resourceVersion) > Number(metadata.resourceVersion))
      }
      isOver = true
      await Promise.all(writers)
      t.match(
        await one(b, 'listed-1'),
        { metadata: { labels: { round: '2' } }, spec: { size: '12' } },
        'both are there',
      )
      hooks.answers.set('/convert', convert)
    })

    await t.test('without the webhook it ends, and tells nothing in another version', async (t) => {
      const now = await write('POST', 'third', 3)
      const { seen, hasEnded } = await watch('v1', `resourceVersion=${now}`)
      const stored = await watch('v2', `resourceVersion=${now}`)
      hooks.answers.set('/convert', () => ({ kind: 'Other', apiVersion: 'v1' }))
      await write('PATCH', 'third', 4)
      await until(() => hasEnded() && stored.seen.length > 0, { what: 'the end of the watch' })
      t.same(seen, [])
      t.same(stored.seen, ['MODIFIED third {"length":4}'], 'the stored version needs no webhook')
      const resumed = await watch('v1', `resourceVersion=${now}`)
      await until(() => resumed.hasEnded(), { what: 'the end of the resumed watch' })
      t.match(resumed.seen.join(), /conversion webhook .* failed/)
      hooks.answers.set('/convert', convert)
      t.match(await b.send(`${shipsOf('v1')}/third`), { body: { spec: { size: '4' } } })
    })
  })
