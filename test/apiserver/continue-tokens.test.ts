/** How long lists may look back, on each storage engine; five minutes pass on a clock that the test moves. */
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { openSqliteStorage } from '../../apiserver/storage/sqlite/sqlite.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import { configMaps as configMapsOf } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const engines: Record<string, (t: Test) => Promise<Storage>> = {
  memory: async () => createMemoryStorage(),
  sqlite: (t) => openSqliteStorage({ file: join(t.testdir(), 'objects.db') }),
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const MINUTE = 60_000

interface Answer {
  code?: number
  reason?: string
  message?: string
  metadata: { continue?: string; resourceVersion?: string; remainingItemCount?: number }
  items?: { metadata: { name: string } }[]
}

async function start(t: Test, storage: Storage) {
  const clock = createVirtualClock(realClock.now(), realClock)
  const log = pino({ level: 'silent' })
  const { send } = await startTestApiServer(t, {}, log, {}, { clock, storage })
  const create = (name: string) => send(configMaps, { method: 'POST', body: { metadata: { name } } })
  for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name)
  return {
    clock,
    create,
    remove: (name: string) => send(`${configMaps}/${name}`, { method: 'DELETE' }),
    list: async (query: string) => (await send(`${configMaps}?${query}`)).body as Answer,
    firstEvent: async (revision = '') =>
      (await send(`${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=${revision}`)).bytes
        .toString()
        .split('\n')[0] ?? '',
  }
}
const names = ({ items = [] }: Answer): string[] => items.map(({ metadata }) => metadata.name)

for (const [engine, make] of Object.entries(engines)) {
  t.test(`${engine}: a continue token lasts five to ten minutes`, async (t) => {
    const { clock, create, remove, list, firstEvent } = await start(t, await make(t))
    await clock.advance(4 * MINUTE)
    const first = await list('limit=2')
    const { continue: token, resourceVersion } = first.metadata
    await remove('c')
    await create('da')
    await clock.advance(5 * MINUTE)
    const second = await list(`limit=1&continue=${token}`)
    t.same(names(second), ['c'], 'what was deleted after the first page is still shown')
    t.equal(second.metadata.resourceVersion, resourceVersion)
    await clock.advance(2 * MINUTE)
    for (const [page, old] of Object.entries({ first: token, second: second.metadata.continue })) {
      const over = await list(`limit=1&continue=${old}`)
      t.match(over, { code: 410, reason: 'Expired', message: /^The provided continue parameter is too old/ }, page)
    }
    const exact = await list(`resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)
    t.match(exact, { code: 410, reason: 'Expired', message: 'The resourceVersion for the provided list is too old.' })
    t.match(await list(`limit=2&resourceVersion=${resourceVersion}`), { code: 410, reason: 'Expired' })
    const newer = await list(`resourceVersion=${resourceVersion}`)
    t.same(names(newer), ['a', 'b', 'd', 'da', 'e'], 'a list that may be newer is answered')
    t.match(
      JSON.parse(await firstEvent(resourceVersion)),
      { type: 'DELETED', object: { metadata: { name: 'c' } } },
      'a watch resumes',
    )

    t.comment('the token in the refusal goes on with what is there')
    const fresh = (await list(`limit=2&continue=${token}`)).metadata.continue
    const rest = await list(`limit=2&continue=${fresh}`)
    t.same(names(rest), ['d', 'da'])
    t.not(rest.metadata.resourceVersion, resourceVersion)
    t.equal(rest.metadata.remainingItemCount, 1)
    await create('f')
    const last = await list(`limit=2&continue=${rest.metadata.continue}`)
    t.same(names(last), ['e'], 'and is consistent from there on')
    t.equal(last.metadata.resourceVersion, rest.metadata.resourceVersion)
    await clock.advance(10 * MINUTE)
    t.match(await list(`limit=2&continue=${rest.metadata.continue}`), { code: 410 })
  })

  t.test(`${engine}: while nothing is written, the newest revision stays`, async (t) => {
    const { clock, list } = await start(t, await make(t))
    const { continue: token } = (await list('limit=2')).metadata
    await clock.advance(60 * MINUTE)
    t.same(names(await list(`continue=${token}`)), ['c', 'd', 'e'])
  })
}

t.test('no token ends in its first five minutes, and none lasts more than ten, whenever it was taken', async (t) => {
  const clock = createVirtualClock(realClock.now(), realClock)
  const server = await startTestApiServer(t, {}, pino({ level: 'silent' }), {}, { clock })
  const client = server.client({ name: 'admin', groups: ['system:masters'] })
  const create = (name: string) => client.create(configMapsOf, { metadata: { namespace: 'default', name } })
  const page = (token?: string) => client.list(configMapsOf, { namespace: 'default', limit: 1, continue: token })
  const isOver = async (token?: string): Promise<boolean> => {
    const error = await page(token).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (error !== undefined && !isStatus(error, 'Expired')) throw error
    return error !== undefined
  }
  await create('a')
  await create('b')
  const tokens: { token?: string; takenMs: number }[] = []
  for (let i = 0; i < 25; i++) {
    tokens.push({ token: (await page()).metadata.continue, takenMs: clock.now() })
    await create(`x${i}`)
    await clock.advance(MINUTE)
    const ages = await Promise.all(
      tokens.map(async ({ token, takenMs }) => ({
        minutes: (clock.now() - takenMs) / MINUTE,
        isOver: await isOver(token),
      })),
    )
    const wrong = ages.filter(({ minutes, isOver }) => (isOver ? minutes <= 5 : minutes > 10))
    t.same(wrong, [], `after ${i + 1} minutes`)
  }
})

t.test('a list by name is one object, as it is or was, and ends there', async (t) => {
  const { remove, list } = await start(t, createMemoryStorage())
  const byName = 'limit=1&fieldSelector=metadata.name%3Db'
  const found = await list(byName)
  t.same(names(found), ['b'])
  t.notOk(found.metadata.continue)
  await remove('b')
  t.same(names(await list(byName)), [])
  const { resourceVersion } = found.metadata
  t.same(names(await list(`${byName}&resourceVersionMatch=Exact&resourceVersion=${resourceVersion}`)), ['b'])
  t.same(names(await list(`${byName}&labelSelector=none`)), [])
})
