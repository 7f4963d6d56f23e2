import { join } from 'node:path'
import t from 'tap'
import type { Fault } from '../../apiserver/instruments/faults.ts'
import type { JournalEntry } from '../../apiserver/instruments/journal.ts'
import { openStorage, type StorageChoice } from '../../apiserver/storage/open-storage.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const v1 = '/kubestage/v1'
const configmaps = '/api/v1/namespaces/default/configmaps'
const path = join(scratchFolder(t, 'instruments'), 'store.sock')

async function start(like?: TestApiServer): Promise<TestApiServer> {
  const choice = like ? ({ engine: 'shared', path } as const) : ({ engine: 'memory' } as const)
  const storage = await openStorage(choice, { clock: realClock, ...(!like && { offerAt: path }) })
  return startTestApiServer(t, {}, undefined, undefined, { storage, like, clock: createMovableClock(realClock) })
}
const holder = await start()
await holder.instruments.snapshots.markStart()
const servers = [holder, await start(holder), await start(holder)]
const [, second, third] = servers as [TestApiServer, TestApiServer, TestApiServer]
const create = (server: TestApiServer, name: string) =>
  server.send(configmaps, { method: 'POST', body: { metadata: { name } } })

t.test('a fault that is added at one server strikes at each, as often as it says in all', async (t) => {
  const rule = { verb: 'create', resource: 'configmaps', times: 3, then: { status: 503 } }
  const added = await third.send(`${v1}/faults`, { method: 'POST', body: rule })
  t.equal(added.status, 200)
  const statuses: number[] = []
  for (let round = 0; round < 5; round++) statuses.push((await create(servers[round % 3]!, `fault-${round}`)).status)
  t.same(statuses, [503, 503, 503, 201, 201])
  const { items } = (await second.send(`${v1}/faults`)).body as { items: Fault[] }
  t.match(items, [{ hits: 3, verb: 'create' }])
  const refused = await second.send(`${v1}/faults`, { method: 'POST', body: { then: {} } })
  t.match(refused, { status: 400, body: { message: /then must be a map/ } })
  t.equal((await second.send(`${v1}/faults/7`, { method: 'DELETE' })).status, 404)
  t.same((await second.send(`${v1}/faults/${items[0]!.id}`, { method: 'DELETE' })).body, { items: [] })
  t.equal((await create(third, 'after')).status, 201)
})

t.test('one journal has the requests of all servers, at each of them', async (t) => {
  t.equal((await second.send(`${v1}/journal`, { method: 'PUT', body: { kept: 100 } })).status, 200)
  for (const [index, server] of servers.entries()) await create(server, `noted-${index}`)
  for (const server of servers) {
    const { items } = (await server.send(`${v1}/journal?verb=create`)).body as { items: JournalEntry[] }
    t.match(items, [
      { resource: 'configmaps', name: 'noted-0', code: 201 },
      { resource: 'configmaps', name: 'noted-1', code: 201 },
      { resource: 'configmaps', name: 'noted-2', code: 201 },
    ])
    t.same(
      items.map(({ id }) => id),
      [...items.map(({ id }) => id)].sort((a, b) => a - b),
    )
  }
  t.equal((await third.send(`${v1}/journal`, { method: 'PUT', body: { kept: 0 } })).status, 200)
})

t.test('time is moved at all servers together', async (t) => {
  const before = realClock.now()
  const moved = await third.send(`${v1}/clock`, { method: 'POST', body: { advance: '2h' } })
  t.match(moved, { status: 200, body: { movedMs: 7_200_000 } })
  for (const [index, server] of servers.entries()) {
    t.match((await server.send(`${v1}/clock`)).body, { movedMs: 7_200_000 })
    const { metadata } = (await create(server, `later-${index}`)).body as { metadata: { creationTimestamp: string } }
    t.ok(Date.parse(metadata.creationTimestamp) >= before + 7_199_000, 'each writes the moved time')
  }
})

t.test('a server that comes later has the faults, the journal and the time of the others', async (t) => {
  await second.send(`${v1}/faults`, {
    method: 'POST',
    body: { verb: 'create', resource: 'configmaps', then: { status: 429 } },
  })
  const late = await start(holder)
  await until(async () => (await create(late, 'late')).status === 429, { what: 'the fault at the late server' })
  t.equal((await third.send(`${v1}/reset`, { method: 'POST' })).status, 200)
  t.equal((await create(late, 'late')).status, 201)
  t.match((await late.send(`${v1}/clock`)).body, { movedMs: 7_200_000 })
  await late.close()
})

t.test('a holder that starts again has the time that its members kept', async (t) => {
  const folder = scratchFolder(t, 'again')
  const [offerAt, file] = [join(folder, 'store.sock'), join(folder, 'state.db')]
  const open = (choice: StorageChoice, like?: TestApiServer): Promise<TestApiServer> =>
    openStorage(choice, { clock: realClock, ...(choice.engine === 'sqlite' && { offerAt }) }).then((storage) =>
      startTestApiServer(t, {}, undefined, undefined, { storage, like, clock: createMovableClock(realClock) }),
    )
  const movedMs = async (server: TestApiServer) =>
    ((await server.send(`${v1}/clock`)).body as { movedMs: number }).movedMs
  const first = await open({ engine: 'sqlite', file })
  const member = await open({ engine: 'shared', path: offerAt }, first)
  t.match(await member.send(`${v1}/clock`, { method: 'POST', body: { advance: '2h' } }), { status: 200 })
  await first.close()
  const next = await open({ engine: 'sqlite', file }, member)
  await until(async () => (await movedMs(next)) === 7_200_000, { what: 'the moved time at the next holder' })
  t.equal(await movedMs(member), 7_200_000)
  await member.close()
})
