import { statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStorage, type StorageChoice } from '../../../apiserver/storage/open-storage.ts'
import type { Storage } from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { storageSuite } from './suite.ts'

const clock = realClock
let count = 0

async function holderOf(t: Pick<Test, 'teardown'>, choice: StorageChoice, path: string): Promise<Storage> {
  const holder = await openStorage(choice, { clock, offerAt: path })
  t.teardown(() => holder.close())
  return holder
}

/** A member of a store in memory or in a file; everything is gone at the end. */
async function member(t: Pick<Test, 'teardown'>, path: string): Promise<Storage> {
  const storage = await openStorage({ engine: 'shared', path }, { clock })
  t.teardown(() => storage.close())
  return storage
}

for (const engine of ['memory', 'sqlite'] as const) {
  const folder = scratchFolder(t, `shared-${engine}`)
  const choiceIn = (place: string): StorageChoice =>
    engine === 'memory' ? { engine } : { engine, file: join(place, 'state.db') }

  storageSuite(`member of a store in ${engine}`, async () => {
    const place = join(folder, `${++count}`)
    await holderOf(t, choiceIn(place), join(place, 'store.sock'))
    return member(t, join(place, 'store.sock'))
  })
}

storageSuite('holder of a store in memory', async () =>
  holderOf(t, { engine: 'memory' }, join(scratchFolder(t, `holder-${++count}`), 'store.sock')),
)

t.test('the socket and the page are their user’s alone', async (t) => {
  const path = join(scratchFolder(t, 'modes'), 'store.sock')
  await holderOf(t, { engine: 'memory' }, path)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(`${path}.revision`).mode & 0o777, 0o600)
})

const key = (name: string): string => `/registry/core/pods/ns/${name}`

t.test('a write that one server acknowledged is there when another is asked', async (t) => {
  const path = join(scratchFolder(t, 'reads'), 'store.sock')
  const servers = [await holderOf(t, { engine: 'memory' }, path), await member(t, path), await member(t, path)]
  let revision: number | 'absent' = 'absent'
  for (let round = 0; round < 300; round++) {
    const [writer, reader] = [servers[round % 3]!, servers[(round + 1) % 3]!]
    const written = await writer.put({ key: key('a'), value: `${round}`, expect: revision })
    if (!written.ok) throw new Error(`round ${round} lost`)
    revision = written.revision
    await reader.catchUp!()
    t.equal((await reader.get(key('a')))?.value, `${round}`)
  }
})
