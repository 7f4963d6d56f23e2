import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../../apiserver/storage/etcd/etcd.ts'
import type { Storage, StorageEvent } from '../../../apiserver/storage/storage.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { etcdPrograms, missingEtcd } from '../../harness/etcd.ts'
import { EtcdMembers } from '../../harness/etcd-members.ts'
import { missingTools } from '../../harness/etcd-tools.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'
import { newest } from '../../harness/versions.ts'

t.setTimeout(120_000)
const prefix = '/registry/core/configmaps/'
const writers = 6

async function open(t: Test, urls: readonly string[]): Promise<Storage> {
  const storage = await openEtcdStorage({ endpoints: urls, prefix: '/registry', clock: realClock })
  t.teardown(() => storage.close())
  return storage
}

interface Acknowledged {
  key: string
  value: string
  revision: number
}

/** Each counts up in a key of its own, and creates one for every tenth number. */
class Writers {
  readonly acknowledged: Acknowledged[] = []
  /** Writes that may or may not have happened. */
  readonly doubtful = new Set<string>()
  readonly #storage: Storage
  readonly #all: Promise<unknown>
  #isOver = false

  constructor(storage: Storage) {
    this.#storage = storage
    this.#all = Promise.all(Array.from({ length: writers }, (_, index) => this.#run(`w-${index}`)))
  }

  /** Resolves when so many more writes have been acknowledged. */
  async progress(count: number, what: string): Promise<void> {
    const wanted = this.acknowledged.length + count
    await until(() => this.acknowledged.length >= wanted, { what: `writes after ${what}` })
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#all
  }

  async #run(name: string): Promise<void> {
    for (let number = 1; !this.#isOver; number++) {
      await this.#write(`${prefix}default/${name}`, `${number}`)
      if (number % 10 === 0) await this.#write(`${prefix}default/${name}-${number}`, `${number}`)
    }
  }

  async #write(key: string, value: string): Promise<void> {
    try {
      const expect = (await this.#storage.get(key))?.revision ?? 'absent'
      const result = await this.#storage.put({ key, value, expect })
      if (result.ok) this.acknowledged.push({ key, value, revision: result.revision })
    } catch {
      this.doubtful.add(`${key} ${value}`)
      await this.#storage.catchUp?.().catch(() => {})
    }
  }
}

const programs = etcdPrograms()
for (const reason of missingEtcd(programs)) skipOrFail(t, reason)

for (const program of newest(programs)) {
  const missing = missingTools(program)
  if (missing) {
    skipOrFail(t, missing)
    continue
  }
  t.test(`three members of etcd ${program.version}: killed, removed and added while clients write`, async (t) => {
    const members = await EtcdMembers.start(t, program, 3)
    const [near, far] = [await open(t, members.urls), await open(t, members.urls.toReversed())]
    const events: StorageEvent[] = []
    far.watch({ prefix, onEvents: (batch) => void events.push(...batch) })
    let gaps = 0
    near.watch({ prefix, onEvents: () => {}, onGap: () => gaps++ })
    const writing = new Writers(near)
    t.teardown(() => writing.stop())
    await writing.progress(50, 'the start')

    const leader = await members.leader()
    await members.kill(leader)
    await writing.progress(50, 'the leader was killed')
    await members.startAgain(leader)
    const [member = ''] = members.urls.filter((url) => url !== leader)
    await members.kill(member)
    await writing.progress(50, 'a member was killed')
    await members.startAgain(member)
    await members.remove(leader)
    await writing.progress(50, 'a member was removed')
    await members.add('m3')
    await writing.progress(50, 'a member was added')
    await writing.stop()
    await Promise.all([near, far].map((storage) => storage.catchUp?.()))

    t.equal(gaps, 0)
    const told = events.map(({ revision }) => revision)
    t.ok(
      told.every((revision, index) => index === 0 || revision > told[index - 1]!),
      'events in order, each once',
    )
    const byRevision = new Map(events.map((event) => [event.revision, event]))
    const lost = writing.acknowledged.filter(({ key, value, revision }) => {
      const event = byRevision.get(revision)
      return event?.key !== key || event.value !== value
    })
    t.same(lost, [], `of ${writing.acknowledged.length} acknowledged writes`)
    const unknown = events.filter(({ key, value, revision }) => {
      const known = writing.acknowledged.some((write) => write.revision === revision)
      return !known && !writing.doubtful.has(`${key} ${value}`)
    })
    t.same(unknown, [], 'nothing else was written')
    // A third server, which was not there, finds what the events lead to.
    const { entries } = await (await open(t, members.urls)).list({ prefix })
    const last = new Map(events.map(({ key, value, revision }) => [key, { key, value, revision }]))
    t.same(
      entries.map(({ key, value, revision }) => ({ key, value, revision })),
      [...last.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
    )
    t.same((await near.list({ prefix })).entries.length, entries.length)
  })
}
