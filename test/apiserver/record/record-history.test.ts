/** What a reader gets of the time before it came: from what watch caches remember, and not more than the bounds. */
import t from 'tap'
import { historyOf } from '../../../apiserver/record/record-history.ts'
import { keyPrefix, objectKey } from '../../../apiserver/registry/keys.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../../apiserver/storage/memory.ts'
import { WatchCache } from '../../../apiserver/watchcache/watch-cache.ts'
import type { RecordedChange, RecordLine } from '../../../shared/record/format.ts'
import { startTestApiServer } from '../../harness/api-server.ts'
import { follow, isOf, isSynced, path, pod, pods } from '../../harness/record.ts'

t.test('a reader that comes later', async (t) => {
  const server = await startTestApiServer(t)
  const startMs = Date.now()
  await server.send(pods, { method: 'POST', body: pod('short') })
  await server.send(`${pods}/short`, {
    ...{ method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
    body: { metadata: { labels: { changed: 'yes' } } },
  })
  const at = new Date().toISOString()
  await server.send(path, { method: 'POST', body: JSON.stringify({ type: 'MARK', at, text: 'm', level: 'note' }) })
  await server.send(`${pods}/short?gracePeriodSeconds=0`, { method: 'DELETE' })
  await server.send(pods, { method: 'POST', body: pod('stays') })
  const read = await follow(server, 'watch=true&history=true')
  await server.send(pods, { method: 'POST', body: pod('later') })
  await read.has(isOf('ADDED', 'later'))

  const { lines } = read
  const synced = lines.findIndex(isSynced)
  const about = (line: RecordLine): string =>
    'object' in line ? `${line.type} ${(line as RecordedChange).object.metadata.name}` : line.type
  const story = lines
    .slice(synced)
    .map(about)
    .filter((text) => /short|stays|later|MARK/.test(text))
  const deletion = ['MODIFIED short', 'DELETED short']
  t.same(story, ['ADDED short', 'MODIFIED short', 'MARK', ...deletion, 'ADDED stays', 'ADDED later'])
  t.equal(lines.filter(isSynced).length, 1)
  t.equal(lines.slice(0, synced).filter((line) => /short|stays/.test(about(line))).length, 0, 'the state before them')
  const past = lines.slice(0, lines.findIndex(isOf('ADDED', 'stays')))
  const times = past.map((line) => Date.parse(line.at))
  t.same(
    times,
    [...times].sort((a, b) => a - b),
    'in the order of their times, the header first',
  )
  const added = lines.find(isOf('ADDED', 'short'))!
  t.ok(Date.parse(added.at) >= startMs && added.at <= at, 'at the time of the write')
  read.answer.destroy()

  const now = await follow(server)
  await now.has(isSynced)
  t.equal(now.lines.filter(isOf('ADDED', 'short')).length, 0, 'without history, a record begins with the present')
  now.answer.destroy()
})

t.test('bounded in changes and bytes: the newest', async (t) => {
  const storage = createMemoryStorage()
  const definition = resources.find(({ plural, group }) => plural === 'pods' && group === '')!
  let ms = 1_000
  const cache = new WatchCache(definition, keyPrefix(definition), storage, { now: () => ms++ })
  const put = (name: string) =>
    storage.put({
      key: objectKey(definition, 'default', name),
      value: JSON.stringify({ metadata: { name, namespace: 'default', uid: name, filler: 'x'.repeat(1_000) } }),
      expect: 'absent',
    })
  await put('before')
  await cache.load()
  for (let n = 0; n < 20; n++) await put(`p-${n}`)
  const names = (limits: { changes: number; bytes: number }) => {
    const { states, changes } = historyOf([cache], limits)
    t.equal(states[0]!.items.length + changes.length, 21, 'what is no change is part of the state')
    return changes.map(({ record, atMs }) => `${record.object.name} ${atMs}`)
  }
  t.same(names({ changes: 3, bytes: 2 ** 20 }), ['p-17 1017', 'p-18 1018', 'p-19 1019'])
  t.same(names({ changes: 100, bytes: 3_500 }), ['p-17 1017', 'p-18 1018', 'p-19 1019'])
  t.equal(names({ changes: 100, bytes: 2 ** 20 }).length, 20, 'what was stored before the server knew it has no time')
})

t.test('more than a reader may leave unread is told in parts', async (t) => {
  const server = await startTestApiServer(t)
  const filler = 'x'.repeat(200_000)
  for (let n = 0; n < 60; n++) await server.send(pods, { method: 'POST', body: pod(`large-${n}`, filler) })
  const read = await follow(server, 'watch=true&history=true')
  await read.has(isOf('ADDED', 'large-59'))
  t.equal(read.lines.filter(({ type }) => type === 'GAP').length, 0, 'one that reads gets all of it')
  read.answer.destroy()
})
