import t, { type Test } from 'tap'
import type { Storage, StorageEvent } from '../../../apiserver/storage/storage.ts'

/** What every engine promises. `make` gives an empty store; it is closed at the end of each test. */
export function storageSuite(name: string, make: () => Promise<Storage>): void {
  const test = (title: string, body: (t: Test, storage: Storage) => Promise<void>): void =>
    void t.test(`${name}: ${title}`, async (t) => {
      const storage = await make()
      t.teardown(() => storage.close())
      await body(t, storage)
    })

  test('an empty store is at revision 1', async (t, storage) => {
    t.equal(storage.revision(), 1)
    t.equal(await storage.get('/registry/core/pods/a/b'), undefined)
    t.same(await storage.list({ prefix: '/registry/' }), { entries: [], revision: 1, remaining: 0 })
  })

  test('create, update and delete take the next revision each', async (t, storage) => {
    t.same(await put(storage, 'a', '1'), { ok: true, revision: 2 })
    t.same(await put(storage, 'b', '1'), { ok: true, revision: 3 })
    t.same(await storage.put({ key: key('a'), value: '2', expect: 2 }), { ok: true, revision: 4 })
    t.same(await storage.get(key('a')), { key: key('a'), value: '2', revision: 4 })
    t.same(await storage.delete({ key: key('b'), expect: 3 }), { ok: true, revision: 5 })
    t.equal(await storage.get(key('b')), undefined)
    t.equal(storage.revision(), 5)
  })

  test('who loses is told what is there, and nothing is written', async (t, storage) => {
    const entry = { key: key('a'), value: '1', revision: 2 }
    await put(storage, 'a', '1')
    t.same(await put(storage, 'a', '2'), { ok: false, current: entry })
    t.same(await storage.put({ key: key('a'), value: '2', expect: 1 }), { ok: false, current: entry })
    t.same(await storage.put({ key: key('none'), value: '2', expect: 1 }), { ok: false, current: undefined })
    t.same(await storage.delete({ key: key('a'), expect: 1 }), { ok: false, current: entry })
    t.same(await storage.delete({ key: key('none') }), { ok: false, current: undefined })
    t.equal(storage.revision(), 2)
  })

  test('a fenced write is made while the Lease names its holder, and never after', async (t, storage) => {
    const lease = '/registry/coordination.k8s.io/leases/kube-system/loops'
    const heldBy = (holder: string): string =>
      JSON.stringify({ metadata: { name: 'loops' }, spec: { holderIdentity: holder } })
    const fence = { key: lease, holder: 'one' }
    const fenced = (name: string, value = '1') => storage.put({ key: key(name), value, expect: 'absent', fence })
    const refused = { code: 409, message: 'the Lease kube-system/loops is not held by "one"' }
    await t.rejects(fenced('a'), refused, 'there is no Lease')
    await storage.put({ key: lease, value: heldBy('one'), expect: 'absent' })
    const made = (await fenced('a')) as { ok: true; revision: number }
    t.ok(made.ok)
    t.match(await fenced('a'), { ok: false, current: { value: '1' } }, 'who loses is told so')
    const { revision: renewed } = (await storage.get(lease))!
    // Renewed, and taken by another, while writes are under way.
    const writes = Array.from({ length: 10 }, (_, index) => fenced(`b${index}`).catch((error: Error) => error))
    const renewal = await storage.put({ key: lease, value: `${heldBy('one')} `, expect: renewed })
    const { revision } = renewal as { revision: number }
    const later = Array.from({ length: 10 }, (_, index) => fenced(`c${index}`).catch((error: Error) => error))
    const taken = (await storage.put({ key: lease, value: heldBy('two'), expect: revision })) as { revision: number }
    for (const result of await Promise.all([...writes, ...later])) {
      if (result instanceof Error) t.match(result, refused)
      else t.ok(result.ok && result.revision < taken.revision, 'before the Lease was taken')
    }
    await t.rejects(fenced('d'), refused)
    await t.rejects(storage.put({ key: key('a'), value: '2', expect: made.revision, fence }), refused)
    await t.rejects(storage.delete({ key: key('a'), fence }), refused)
    t.match(await storage.get(key('a')), { value: '1' })
    t.equal(await storage.get(key('d')), undefined)
    t.ok((await storage.delete({ key: key('a'), fence: { key: lease, holder: 'two' } })).ok)
  })

  test('of writers that race, one wins', async (t, storage) => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => put(storage, 'a', `${i}`)))
    t.equal(results.filter(({ ok }) => ok).length, 1)
    t.equal(storage.revision(), 2)
  })

  test('lists are in byte order, by prefix, in pages', async (t, storage) => {
    const names = ['b', 'a-b', 'a', '9', '10', 'a.b', 'a0', 'ab', 'ü']
    for (const name of names) await put(storage, name, name)
    await storage.put({ key: '/registry/core/podtemplates/ns/x', value: 'x', expect: 'absent' })
    const all = await storage.list({ prefix })
    const sorted = ['10', '9', 'a', 'a-b', 'a.b', 'a0', 'ab', 'b', 'ü']
    t.same(
      all.entries.map(({ value }) => value),
      sorted,
    )
    t.equal(all.remaining, 0)
    const page = await storage.list({ prefix, limit: 4, startAfter: key('9') })
    t.same(
      page.entries.map(({ value }) => value),
      sorted.slice(2, 6),
    )
    t.equal(page.remaining, 3)
    t.equal((await storage.list({ prefix, startAfter: key('a.') })).entries[0]?.value, 'a.b')
  })

  test('thousands of keys in any order, some gone again', async (t, storage) => {
    const names = Array.from({ length: 3000 }, (_, i) => `n${(i * 7919) % 3000}`.padEnd(6, 'x'))
    for (const name of names) await put(storage, name, name)
    for (const name of names.filter((_, i) => i % 3 === 0)) await storage.delete({ key: key(name) })
    const { entries } = await storage.list({ prefix })
    t.same(
      entries.map(({ value }) => value),
      names.filter((_, i) => i % 3 !== 0).sort(),
    )
  })

  test('a list at an earlier revision shows what was there then', async (t, storage) => {
    await put(storage, 'a', '1')
    await put(storage, 'b', '1')
    await storage.put({ key: key('a'), value: '2', expect: 2 })
    await put(storage, 'c', '1')
    await storage.delete({ key: key('b') })
    await put(storage, 'b', '9')
    const at = async (revision: number) =>
      (await storage.list({ prefix, revision })).entries.map(
        (entry) => `${entry.key.slice(-1)}${entry.value}@${entry.revision}`,
      )
    t.same(await at(1), [])
    t.same(await at(3), ['a1@2', 'b1@3'])
    t.same(await at(5), ['a2@4', 'b1@3', 'c1@5'])
    t.same(await at(6), ['a2@4', 'c1@5'])
    t.same(await at(7), ['a2@4', 'b9@7', 'c1@5'])
    const page = await storage.list({ prefix, revision: 5, limit: 1, startAfter: key('a') })
    t.same(page, { entries: [{ key: key('b'), value: '1', revision: 3 }], revision: 5, remaining: 1 })
  })

  test('a watch tells every write under its prefix, with what was there before', async (t, storage) => {
    const events: StorageEvent[] = []
    const watch = storage.watch({ prefix, onEvents: (batch) => events.push(...batch) })
    await put(storage, 'a', '1')
    await storage.put({ key: '/registry/core/secrets/ns/a', value: '1', expect: 'absent' })
    await storage.put({ key: key('a'), value: '2', expect: 2 })
    await storage.delete({ key: key('a') })
    await condition(() => events.length === 3)
    t.match(events, [
      { type: 'put', key: key('a'), revision: 2, value: '1', previous: undefined },
      { type: 'put', key: key('a'), revision: 4, value: '2', previous: { value: '1', revision: 2 } },
      { type: 'delete', key: key('a'), revision: 5, value: undefined, previous: { value: '2', revision: 4 } },
    ])
    watch.close()
    watch.close()
    await put(storage, 'z', '1')
    t.equal(events.length, 3)
  })

  test('a watch resumes after a revision, without gap or repetition', async (t, storage) => {
    for (const name of ['a', 'b', 'c']) await put(storage, name, '1')
    const events: StorageEvent[] = []
    storage.watch({ prefix, afterRevision: 2, onEvents: (batch) => events.push(...batch) })
    await put(storage, 'd', '1')
    await condition(() => events.length === 3)
    t.same(
      events.map(({ revision }) => revision),
      [3, 4, 5],
    )
  })

  test('below the compacted revision there is no history', async (t, storage) => {
    for (const name of ['a', 'b', 'c']) await put(storage, name, '1')
    await storage.compact(3)
    await t.rejects(storage.list({ prefix, revision: 2 }), /compacted/)
    t.throws(() => storage.watch({ prefix, afterRevision: 2, onEvents: () => {} }), /compacted/)
    t.equal((await storage.list({ prefix, revision: 3 })).entries.length, 2)
    t.equal((await storage.list({ prefix })).entries.length, 3)
    const events: StorageEvent[] = []
    storage.watch({ prefix, afterRevision: 3, onEvents: (batch) => events.push(...batch) })
    await condition(() => events.length === 1)
    t.equal(events[0]?.revision, 4)
  })

  test('values are any text', async (t, storage) => {
    const value = JSON.stringify({ text: 'ünï \u0000 😀 "quoted"' })
    await put(storage, 'a', value)
    t.equal((await storage.get(key('a')))?.value, value)
  })
}

const prefix = '/registry/core/pods/'
const key = (name: string): string => `${prefix}ns/${name}`
const put = (storage: Storage, name: string, value: string) => storage.put({ key: key(name), value, expect: 'absent' })

/** An engine outside this process delivers a moment later. */
async function condition(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => setImmediate(resolve))
}
