import t from 'tap'
import { type FaultRule, resources, type StatusError } from '../../library/index.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { configMap, namespace, outside, start } from './stage.ts'

const { configMaps, namespaces } = resources

t.test('faults strike the requests that they select, as often as they say', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  const create = (name: string) => client.create(configMaps, configMap(name))
  {
    using fault = cluster.faults.add({
      verb: 'create',
      resource: 'configmaps',
      times: 2,
      then: { status: { code: 429, retryAfterSeconds: 1, message: 'slow down' } },
    })
    for (let i = 0; i < 2; i++) {
      await t.rejects(create('a'), { message: 'slow down', code: 429, reason: 'TooManyRequests' })
    }
    await create('a')
    t.equal(fault.hits(), 2)
    t.match(cluster.journal.entries({ code: 429 }), [{ fault: 'status=429' }, { fault: 'status=429' }])
  }
  t.same(cluster.faults.list(), [])
})

t.test('each effect of a fault', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  await client.create(configMaps, configMap('a', { is: 'old' }))
  await client.patch(configMaps, { namespace, name: 'a' }, { data: { is: 'new' } })
  const during = async <Result>(then: FaultRule['then'], body: () => Promise<Result>): Promise<Result> => {
    using _ = cluster.faults.add({ resource: 'configmaps', then })
    return await body()
  }
  const get = () => client.get(configMaps, { namespace, name: 'a' })
  await during({ status: 503 }, () => t.rejects(get(), { reason: 'ServiceUnavailable', message: 'failed on purpose' }))
  await during({ reset: true }, () => t.rejects(get(), /socket hang up|ECONNRESET|connection was closed/))
  const startedMs = realClock.monotonic()
  await during({ delay: '200ms' }, get)
  t.ok(realClock.monotonic() - startedMs >= 200, 'it took its time')
  const types: string[] = []
  await during({ dropWatch: '100ms' }, async () => {
    await t.rejects(async () => {
      for await (const { type } of client.watch(configMaps, { namespace })) types.push(type)
    })
  })
  t.same(types, ['ADDED'], 'a watch begins, and is cut')
  t.match(await get(), { data: { is: 'new' } })
})

/** One request of each verb, by which a fault can be felt. */
const requests: Record<string, (client: Client) => Promise<unknown>> = {
  get: (client) => client.get(configMaps, { namespace, name: 'a' }),
  list: (client) => client.list(configMaps, { namespace }),
  watch: async (client) => {
    const leave = new AbortController()
    for await (const _ of client.watch(configMaps, { namespace, signal: leave.signal })) leave.abort()
  },
  create: (client) => client.create(configMaps, configMap('new')),
  update: (client) => client.update(configMaps, configMap('a', { is: 'updated' })),
  patch: (client) => client.patch(configMaps, { namespace, name: 'a' }, { data: { is: 'patched' } }),
  delete: (client) => client.delete(configMaps, { namespace, name: 'a' }),
}

t.test('every verb can be refused, cut and delayed, and nothing is done then', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  await client.create(configMaps, configMap('a', { is: 'there' }))
  const before = await client.list<ConfigMap>(configMaps, { namespace })
  for (const [verb, request] of Object.entries(requests)) {
    const during = async (then: FaultRule['then'], expected: (request: Promise<unknown>) => Promise<unknown>) => {
      using fault = cluster.faults.add({
        verb,
        resource: 'configmaps',
        name: verb === 'create' ? undefined : names,
        then,
      })
      await expected(request(client))
      t.ok(fault.hits() > 0, `${verb}: ${JSON.stringify(then)}`)
    }
    const names = ['get', 'update', 'patch', 'delete'].includes(verb) ? 'a' : undefined
    await during({ status: { code: 503, message: `no ${verb}` } }, (request) =>
      t.rejects(request, { code: 503, reason: 'ServiceUnavailable', message: `no ${verb}` }),
    )
    await during({ reset: true }, (request) => t.rejects(request, /socket hang up|ECONNRESET|connection was closed/))
    await during({ delay: '1ms', status: 410 }, (request) => t.rejects(request, { code: 410 }))
  }
  t.same(await client.list(configMaps, { namespace }), before)
})

t.test('stale reads: the object, or what is listed, before the last writes to it', async (t) => {
  const cluster = await start(t)
  const client = outside(t, cluster)
  const ref = { namespace, name: 'a' }
  const versions = [await client.create<ConfigMap>(configMaps, configMap('a', { is: '1' }))]
  for (const is of ['2', '3']) versions.push(await client.patch<ConfigMap>(configMaps, ref, { data: { is } }))
  await client.create(configMaps, configMap('b'))
  await client.create(namespaces, { metadata: { name: 'other' } })
  const during = async <Result>(stale: number, read: () => Promise<Result>): Promise<Result> => {
    using _ = cluster.faults.add({ resource: 'configmaps', then: { stale } })
    return await read()
  }
  const get = () => client.get<ConfigMap>(configMaps, ref)
  t.same(await during(1, get), versions[1], 'writes of others do not count')
  t.same(await during(2, get), versions[0])
  await t.rejects(during(3, get), { code: 404 }, 'before it was created')
  await client.delete(configMaps, ref)
  t.same(await during(1, get), versions[2], 'deleted, but not seen to be')
  await t.rejects(get(), { code: 404 })

  const list = async () => {
    const { metadata, items } = await client.list<ConfigMap>(configMaps, { namespace })
    return { names: items.map(({ metadata }) => metadata.name), revision: Number(metadata.resourceVersion) }
  }
  const now = await list()
  t.same(now.names, ['b'])
  const then = await during(1, list)
  t.same(then.names, ['a', 'b'])
  t.ok(then.revision < now.revision, 'who watches from there hears of all since')
  t.same((await during(2, list)).names, ['a'])
  t.same((await during(1000, list)).names, [], 'as far as is remembered')
  using fault = cluster.faults.add({ resource: 'configmaps', then: { stale: 1 } })
  await client.patch(configMaps, { namespace, name: 'b' }, { data: { is: 'new' } })
  t.equal(fault.hits(), 0, 'writes are never stale')
  await t.rejects(
    client.update(configMaps, await client.get<ConfigMap>(configMaps, { namespace, name: 'b' })),
    { code: 409 },
    'who writes what was read so is told',
  )
})

t.test('chance is the same with the same seed, in whatever order requests come', async (t) => {
  const names = Array.from({ length: 8 }, (_, index) => `c${index}`)
  /** For each name: which of its six gets failed. */
  const luck = async (seed: number, order: readonly string[]): Promise<Record<string, string>> => {
    const cluster = await start(t)
    const client = outside(t, cluster)
    cluster.faults.add({ verb: 'get', probability: 0.5, seed, then: { status: 500 } })
    const found = Object.fromEntries(names.map((name) => [name, '']))
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        order.map(async (name) => {
          const code = await client.get(configMaps, { namespace, name }).catch((error: StatusError) => error.code)
          found[name] += code === 500 ? 'x' : '.'
        }),
      )
    }
    return found
  }
  const first = await luck(7, names)
  t.same(await luck(7, names.toReversed()), first)
  t.notSame(await luck(8, names), first)
  const all = Object.values(first).join('')
  t.ok(new Set(Object.values(first)).size > 1, 'each name has its own luck', { first })
  const failed = all.split('x').length - 1
  t.ok(failed > 12 && failed < 36, `${failed} of 48 failed`)
})

t.test('a rule that makes no sense is refused with what would', async (t) => {
  const { faults } = await start(t)
  const add = (rule: object) => () => faults.add(rule as FaultRule)
  t.throws(add({ verb: 'get' }), /then must be a map with one of status, delay, reset, dropWatch, stale/)
  t.throws(add({ verbs: 'get', then: { reset: true } }), /unknown field "verbs"; a fault has verb, resource/)
  t.throws(add({ then: { status: 200 } }), /status must be a code from 400 to 599/)
  t.throws(add({ then: { delay: 'soon' } }), /delay must be a duration such as 500ms/)
  t.throws(add({ probability: 2, then: { reset: true } }), /probability must be from 0 to 1, not 2/)
  t.throws(add({ times: 0, then: { reset: true } }), /times must be a whole number from 1 on, not 0/)
  t.throws(add({ verb: 7, then: { reset: true } }), /verb must be text, or a list of texts/)
})
