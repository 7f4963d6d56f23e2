import t from 'tap'
import type { ResourceDefinition } from '../../apiserver/kind/resource-definition.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { SortedMap } from '../../apiserver/storage/sorted-map.ts'
import type { Selection } from '../../apiserver/watchcache/selection.ts'
import { Watch, type WatchStart } from '../../apiserver/watchcache/watch.ts'
import { WatchBacklog } from '../../apiserver/watchcache/watch-backlog.ts'
import { WatchCache } from '../../apiserver/watchcache/watch-cache.ts'
import type { WatchEncoder, WatchSink } from '../../apiserver/watchcache/watch-sink.ts'
import { parseFieldSelector } from '../../shared/api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../shared/api/selectors/label-selector.ts'
import type { StatusError } from '../../shared/api/status/status-error.ts'

const prefix = '/registry/core/pods/'
const definition: ResourceDefinition = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  singular: 'pod',
  namespaced: true,
  schema: 'io.k8s.api.core.v1.Pod',
  selectableFields: { 'spec.nodeName': ({ spec }) => (spec as { nodeName?: string } | undefined)?.nodeName ?? '' },
  strategy: {},
  example: { metadata: {} },
}

/** Short words for what a watcher sees: `+a@2`, `~a@3`, `-a@4`, `^5` and `^5!` for bookmarks. */
const signs = { ADDED: '+', MODIFIED: '~', DELETED: '-' }
let encodings = 0
const encoder: WatchEncoder<string[]> = {
  id: 'words',
  encode(records) {
    encodings++
    return records.map((record) =>
      record.type === 'BOOKMARK'
        ? `^${record.revision}${record.initialEventsEnd ? '!' : ''}`
        : `${signs[record.type]}${record.object.name}@${record.revision}`,
    )
  },
}

class TestSink implements WatchSink<string[]> {
  seen: string[] = []
  ended: StatusError | boolean = false
  aborted = false
  unread = 0
  room: Promise<void> = Promise.resolve()
  write(chunk: string[]): void {
    this.seen.push(...chunk)
  }
  buffered(): number {
    return this.unread
  }
  drained(): Promise<void> {
    return this.room
  }
  end(error?: StatusError): void {
    this.ended = error ?? true
  }
  abort(): void {
    this.aborted = true
  }
}

function setUp(backlog?: WatchBacklog) {
  const storage = createMemoryStorage()
  const cache = new WatchCache(definition, prefix, storage, { backlog })
  const revisions = new Map<string, number>()
  const put = async (path: string, labels: Record<string, string> = {}, nodeName = '') => {
    const key = prefix + path
    const metadata = { name: path.split('/')[1], labels }
    const value = JSON.stringify({ metadata, spec: { nodeName } })
    const result = await storage.put({ key, value, expect: revisions.get(key) ?? 'absent' })
    if (result.ok) revisions.set(key, result.revision)
  }
  const remove = async (path: string) => {
    await storage.delete({ key: prefix + path })
    revisions.delete(prefix + path)
  }
  const select = ({ namespace = '', labels = '', fields = '' } = {}): Selection => ({
    prefix: namespace ? `${prefix}${namespace}/` : prefix,
    labels: parseLabelSelector(labels),
    fields: parseFieldSelector(fields),
  })
  const watch = async (start: Partial<WatchStart<string[]>> = {}, sink = new TestSink()) => {
    const watch = new Watch(cache, sink, { selection: select(), encoder, bookmarks: false, after: 'now', ...start })
    await watch.run()
    return { sink, watch }
  }
  return { storage, cache, put, remove, select, watch }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

t.test(
  'an event costs nothing for watchers of other nodes, and reaches those that its pod leaves and enters',
  async (t) => {
    const { put, select, watch } = setUp()
    let looks = 0
    const counted = (fields: string): Selection => {
      const { fields: all, ...rest } = select({ fields })
      return {
        ...rest,
        get fields() {
          looks++
          return all
        },
      }
    }
    for (let i = 0; i < 1000; i++) await watch({ selection: counted(`spec.nodeName=other-${i}`) })
    const { sink: left, watch: leaving } = await watch({ selection: select({ fields: 'spec.nodeName=left' }) })
    const { sink: entered } = await watch({ selection: select({ fields: 'spec.nodeName=entered' }) })
    const { sink: elsewhere } = await watch({ selection: select({ fields: 'spec.nodeName!=left' }) })
    const before = looks
    await put('default/a', {}, 'left')
    await put('default/a', {}, 'entered')
    await new Promise(setImmediate)
    t.equal(looks, before)
    t.same([left.seen, entered.seen, elsewhere.seen], [['+a@2', '-a@3'], ['+a@3'], ['+a@3']])
    leaving.stop()
    await put('default/b', {}, 'left')
    await new Promise(setImmediate)
    t.same([left.seen.length, entered.seen.length], [2, 1])
  },
)

t.test('lists: in key order, by namespace and selectors, in pages, as they were', async (t) => {
  const { cache, put, remove, select } = setUp()
  await put('b/x', { app: 'web' }, 'n1')
  await put('a/y', { app: 'db' }, 'n2')
  await put('a/x', { app: 'web' }, 'n2')
  const names = (...args: Parameters<WatchCache['list']>) =>
    cache.list(...args).items.map(({ namespace, name }) => `${namespace}/${name}`)
  t.same(names(select()), ['a/x', 'a/y', 'b/x'])
  t.same(names(select({ namespace: 'a' })), ['a/x', 'a/y'])
  t.same(names(select({ labels: 'app=web' })), ['a/x', 'b/x'])
  t.same(names(select({ fields: 'spec.nodeName=n2,metadata.name!=y' })), ['a/x'])
  t.same(names(select({ fields: 'metadata.namespace=b' })), ['b/x'])
  t.match(cache.list(select(), { limit: 2 }), { remaining: 1, revision: 4 })
  t.match(cache.list(select({ labels: 'app=web' }), { limit: 1 }), { remaining: 2 })
  t.same(names(select(), { startAfter: `${prefix}a/x` }), ['a/y', 'b/x'])
  await remove('a/y')
  await put('a/z')
  t.same(names(select(), { revision: 4 }), ['a/x', 'a/y', 'b/x'])
  t.same(names(select(), { revision: 3 }), ['a/y', 'b/x'])
})

t.test('a page of an earlier revision shows what was there then, and looks at few other objects', async (t) => {
  const { cache, put, remove, select } = setUp()
  const paths = Array.from({ length: 2_000 }, (_, i) => `default/${String(i).padStart(4, '0')}`)
  const labelsOf = (path: string) => ({ third: `${Number(path.slice(-4)) % 3 === 0}` })
  for (const path of paths) await put(path, labelsOf(path))
  const revision = cache.revision()
  for (const path of ['default/0000', 'default/0700', 'default/1999']) await remove(path)
  for (const path of ['default/0700', 'default/0700b', 'default/1200']) await put(path)
  const { range } = SortedMap.prototype
  let widest = 0
  SortedMap.prototype.range = function (...asked) {
    const found = range.apply(this, asked)
    widest = Math.max(widest, found.length)
    return found
  }
  t.teardown(() => Object.assign(SortedMap.prototype, { range }))
  for (const labels of ['', 'third=true', 'third=none']) {
    const wanted = paths.filter((path) => labels === '' || labels === `third=${labelsOf(path).third}`)
    for (const limit of [7, 100, 500]) {
      const shown: string[] = []
      for (let startAfter: string | undefined; ; startAfter = prefix + shown.at(-1)) {
        const { items, remaining } = cache.list(select({ labels }), { revision, limit, startAfter })
        shown.push(...items.map(({ key }) => key.slice(prefix.length)))
        const behind = items.length < limit ? 0 : paths.length - 1 - paths.indexOf(shown.at(-1)!)
        if (remaining !== behind) t.equal(remaining, behind, `${labels}: pages of ${limit} until ${shown.at(-1)}`)
        if (remaining === 0) break
      }
      t.same(shown, wanted, `${labels}: pages of ${limit}`)
    }
  }
  t.ok(widest <= 505, `${widest} objects at once`)
})

t.test('an object is converted when it is read in that version, and once', async (t) => {
  const storage = createMemoryStorage()
  let conversions = 0
  const present = ({ value }: { value: string }): string => {
    conversions++
    return value.replace('"x"', '"converted"')
  }
  const cache = new WatchCache({ ...definition, conversion: { present, toStorage: () => {} } }, prefix, storage)
  const key = `${prefix}a/x`
  await storage.put({ key, value: '{"metadata":{"name":"x"}}', expect: 'absent' })
  t.equal(cache.size, 1)
  t.equal(conversions, 0, 'stored, and never read')
  const object = cache.get(key)
  t.equal(object?.value, '{"metadata":{"name":"converted"}}')
  t.equal(object?.value, '{"metadata":{"name":"converted"}}')
  t.equal(object?.parts, undefined, 'the parts are those of another version')
  t.equal(conversions, 1)
})

t.test('a watch: the state first, then what happens', async (t) => {
  const { put, remove, watch } = setUp()
  await put('a/y')
  await put('a/x')
  const { sink } = await watch({ bookmarks: true })
  t.same(sink.seen, ['+x@3', '+y@2', '^3!'])
  await put('a/x', { v: '2' })
  await remove('a/y')
  await turn()
  t.same(sink.seen.slice(3), ['~x@4', '-y@5'])
})

t.test('a watch resumes after a revision, and one that has not come yet is waited for', async (t) => {
  const { put, watch } = setUp()
  await put('a/x')
  await put('a/y')
  await put('a/x', { v: '2' })
  const { sink: resumed } = await watch({ after: 2 })
  t.same(resumed.seen, ['+y@3', '~x@4'])
  const { sink: early } = await watch({ after: 5 })
  await put('a/z')
  await put('a/w')
  await turn()
  t.same(early.seen, ['+w@6'])
  t.same(resumed.seen, ['+y@3', '~x@4', '+z@5', '+w@6'])
})

t.test('entering and leaving a selection is being added and deleted', async (t) => {
  const { put, remove, select, watch } = setUp()
  const { sink: web } = await watch({ selection: select({ labels: 'app=web' }) })
  const { sink: other } = await watch({ selection: select({ labels: 'app!=web' }) })
  const { sink: onNode } = await watch({ selection: select({ fields: 'spec.nodeName=n' }) })
  await put('a/x', { app: 'web' })
  await put('a/x', { app: 'web', v: '2' }, 'n')
  await put('a/x', { app: 'db' }, 'n')
  await remove('a/x')
  await turn()
  t.same(web.seen, ['+x@2', '~x@3', '-x@4'])
  t.same(other.seen, ['+x@4', '-x@5'])
  t.same(onNode.seen, ['+x@3', '~x@4', '-x@5'])
})

t.test('history that is gone is 410, in the stream', async (t) => {
  const { cache, storage, put, watch } = setUp()
  for (let i = 0; i < 20_010; i++) await put('a/x', { v: `${i}` })
  t.ok(cache.oldestRevision() > 2)
  const { sink } = await watch({ after: 2 })
  t.match(sink.ended, { message: /^too old resource version: 2 \(\d+\)$/, code: 410, reason: 'Expired' })
  t.same(sink.seen, [])
  await storage.close()
})

t.test('watchers with the same view share one encoding per turn of the loop', async (t) => {
  const { put, watch } = setUp()
  const sinks = await Promise.all(Array.from({ length: 1200 }, () => watch()))
  encodings = 0
  for (let i = 0; i < 10; i++) await put(`a/${i}`)
  for (let i = 0; i < 5; i++) await turn()
  t.equal(encodings, 1)
  t.ok(sinks.every(({ sink }) => sink.seen.length === 10))
  t.same(sinks[1199]!.sink.seen.slice(0, 2), ['+0@2', '+1@3'])
})

t.test('writes under way together are not parsed again, each by its own key', async (t) => {
  const { storage, cache, select } = setUp()
  const decoded = new Map<string, unknown>()
  const local: WatchEncoder<string[]> = {
    id: 'local',
    isLocal: true,
    encode: (records) => {
      for (const record of records) if (record.type !== 'BOOKMARK') decoded.set(record.object.name, record.decoded)
      return []
    },
  }
  cache.join(new TestSink(), { selection: select(), encoder: local, bookmarks: false })
  const [a, b, other] = ['a', 'b', 'other'].map((name) => ({ metadata: { name } }))
  const text = (object: unknown) => JSON.stringify(object)
  cache.expect(`${prefix}x/a`, text(a), a!)
  cache.expect(`${prefix}x/b`, text(b), b!)
  cache.expect(`${prefix}x/other`, text(other), other!)
  await storage.put({ key: `${prefix}x/b`, value: text(b), expect: 'absent' })
  await storage.put({ key: `${prefix}x/a`, value: text(a), expect: 'absent' })
  const won = text({ metadata: { name: 'other', labels: { by: 'another server' } } })
  await storage.put({ key: `${prefix}x/other`, value: won, expect: 'absent' })
  await turn()
  t.equal(decoded.get('a'), a)
  t.equal(decoded.get('b'), b)
  t.ok(decoded.has('other'), 'another write of its key is told as well')
  t.equal(decoded.get('other'), undefined, 'and is not taken for the one that was under way')
})

t.test('the last state of a removed object is not parsed again, if this server removed it', async (t) => {
  const { storage, cache, select, put } = setUp()
  const told: unknown[] = []
  const local: WatchEncoder<string[]> = {
    id: 'local',
    isLocal: true,
    encode: (records) => {
      for (const record of records) if (record.type === 'DELETED') told.push(record.decoded)
      return []
    },
  }
  for (const name of ['a', 'b', 'c']) await put(`x/${name}`)
  cache.join(new TestSink(), { selection: select(), encoder: local, bookmarks: false })
  const remove = async (name: string, expected: { revision: number; lastValue?: string }, lastValue?: string) => {
    const object = { metadata: { name } }
    cache.expectRemoval(`${prefix}x/${name}`, { lastValue: undefined, ...expected, object })
    await storage.delete({ key: `${prefix}x/${name}`, lastValue })
    return object
  }
  const a = await remove('a', { revision: 2 })
  await remove('b', { revision: 2 })
  await remove('c', { revision: 4 }, JSON.stringify({ metadata: { name: 'c', labels: { last: 'state' } } }))
  await turn()
  t.equal(told[0], a)
  t.equal(told[1], undefined, 'another revision than the expected one was removed')
  t.equal(told[2], undefined, 'another server showed another last state')
})

t.test('a watcher that starts in between sees each event once', async (t) => {
  const { put, watch } = setUp()
  const { sink: first } = await watch()
  await put('a/x')
  const { sink: second } = await watch()
  await put('a/y')
  await turn()
  t.same(first.seen, ['+x@2', '+y@3'])
  t.same(second.seen, ['+x@2', '+y@3'])
})

t.test('a cache that closes ends its watches after what has happened', async (t) => {
  const { cache, put, watch } = setUp()
  const { sink } = await watch()
  await put('ns/a')
  cache.close()
  t.same(sink.seen, ['+a@2'])
  t.ok(sink.ended)
})

t.test('a watcher that does not read is cut off, and the others are not', async (t) => {
  const { put, watch } = setUp()
  const { sink: slow } = await watch()
  const { sink: quick } = await watch()
  slow.unread = 8 * 1024 * 1024 + 1
  await put('a/x')
  await turn()
  await put('a/y')
  await turn()
  t.ok(slow.aborted)
  t.same(slow.seen, [])
  t.same(quick.seen, ['+x@2', '+y@3'])
})

t.test('watches that leave too much unread together are cut off, each when it has more than its share', async (t) => {
  const cut: string[] = []
  const backlog = new WatchBacklog({
    perWatch: 1_000,
    all: 1_000,
    onReached: (limit, _, bytes) => cut.push(`${limit} ${bytes}`),
  })
  const { put, select, watch } = setUp(backlog)
  const behind = [300, 400, 500]
  const sinks: TestSink[] = []
  for (const unread of behind) {
    const { sink } = await watch({ selection: select({ fields: `metadata.name!=${unread}` }) })
    sink.unread = unread
    sinks.push(sink)
  }
  const { sink: quick } = await watch()
  await put('a/x')
  await turn()
  t.same(
    sinks.map(({ aborted }) => aborted),
    [false, false, false],
    'what they have left unread is known after an event',
  )
  await put('a/y')
  await turn()
  t.same(
    sinks.map(({ aborted }) => aborted),
    [false, true, false],
    'the first that has more than a third; then there is room again',
  )
  await put('a/z')
  await turn()
  t.notOk(sinks[2]?.aborted)
  t.same(quick.seen, ['+x@2', '+y@3', '+z@4'])
  t.match(backlog.families(), [{ samples: [{ value: 800 }] }])
  t.same(cut, ['all 400'])
})

t.test('a long state is sent as quickly as it is read; what happens meanwhile comes after it', async (t) => {
  const { put, remove, watch } = setUp()
  const labels = { padding: 'x'.repeat(1000) }
  for (let i = 100; i < 300; i++) await put(`a/${i}`, labels)
  const sink = new TestSink()
  const gate = Promise.withResolvers<void>()
  sink.room = gate.promise
  const running = watch({}, sink)
  await turn()
  t.ok(sink.seen.length < 100, 'it waits for the reader')
  await put('a/100', { v: '2' })
  await remove('a/299')
  gate.resolve()
  await running
  t.equal(sink.seen.length, 202)
  t.same(sink.seen.slice(-2), ['~100@202', '-299@203'])
})

t.test('bookmarks for watchers that want them; a watcher that leaves gets nothing more', async (t) => {
  const { cache, put, watch } = setUp()
  const { sink: marked, watch: leaving } = await watch({ bookmarks: true })
  const { sink: unmarked } = await watch()
  await put('a/x')
  cache.sendBookmarks()
  await turn()
  t.same(marked.seen, ['^1!', '+x@2', '^2'])
  t.same(unmarked.seen, ['+x@2'])
  leaving.stop()
  await put('a/y')
  await turn()
  t.equal(marked.seen.length, 3)
  cache.close()
  t.equal(unmarked.ended, true)
})

t.test(
  'a watch that ends twice, by its time and by its connection, takes nobody along who came in between',
  async (t) => {
    const { cache, put, watch } = setUp()
    const { watch: ending } = await watch()
    ending.stop()
    const { sink: resumed } = await watch()
    ending.stop()
    await put('a/x')
    await turn()
    t.same(resumed.seen, ['+x@2'])

    const leave = cache.join(new TestSink(), {
      selection: { prefix, labels: [], fields: [] },
      encoder,
      bookmarks: true,
    })
    leave()
    const { sink: next } = await watch({ bookmarks: true })
    leave()
    await put('a/y')
    await turn()
    t.equal(next.seen.at(-1), '+y@3')
    cache.close()
  },
)
