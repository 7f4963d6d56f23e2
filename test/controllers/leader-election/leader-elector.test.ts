/** Upstream: client-go/tools/leaderelection. */
import { pino } from 'pino'
import t from 'tap'
import { LeaderElector } from '../../../controllers/leader-election/leader-elector.ts'
import { Term } from '../../../controllers/leader-election/term.ts'
import { termClient } from '../../../controllers/leader-election/term-client.ts'
import type { Lease } from '../../../shared/api/types.ts'
import type { Client } from '../../../shared/client/client.ts'
import { configMaps, leases, namespaces } from '../../../shared/client/resources.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { checkElectionTimes } from '../../../shared/config/election-settings.ts'
import { startTestApiServer } from '../../harness/api-server.ts'

const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }
const namespace = 'kube-system'
const leader = { namespace, name: 'lease', identity: 'one' }
const clock = createVirtualClock()
const server = await startTestApiServer(t)
const admin = server.client({ name: 'admin', groups: ['system:masters'] })
await admin.create(namespaces, { metadata: { name: namespace } })
const read = (name: string) => admin.get<Lease>(leases, { namespace, name })

/** One that may lead, behind a network that can be cut. */
class Candidate {
  isCut = false
  term: Term | undefined
  readonly stopping = new AbortController()
  readonly identity: string
  readonly elector: LeaderElector

  constructor(name: string, identity: string, random = () => 0.5) {
    const settings = { ...times, namespace, name }
    this.identity = identity
    const log = pino({ level: 'silent' })
    this.elector = new LeaderElector({ client: this.#client(), clock, log, identity, settings, random })
    t.teardown(() => this.stopping.abort())
    void this.elector.acquire(this.stopping.signal).then((term) => (this.term = term))
  }

  leads(): boolean {
    return this.term?.isHeld() === true
  }

  /** Refuses what is asked during a cut, and loses the answer to what was asked before. */
  #client(): Client {
    const through = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
      if (this.isCut) throw new Error('cut off')
      const answer = await call()
      if (this.isCut) throw new Error('cut off')
      return answer
    }
    const limited = {
      get: (...words: Parameters<Client['get']>) => through(() => admin.get(...words)),
      list: (...words: Parameters<Client['list']>) => through(() => admin.list(...words)),
      create: (...words: Parameters<Client['create']>) => through(() => admin.create(...words)),
      update: (...words: Parameters<Client['update']>) => through(() => admin.update(...words)),
      watch: (...words: Parameters<Client['watch']>) => admin.watch(...words),
    }
    return limited as unknown as Client
  }
}

t.test('one of two leads, and its Lease says so in the words of client-go', async (t) => {
  const one = new Candidate('words', 'one')
  await clock.advanceUntil(() => one.leads())
  const two = new Candidate('words', 'two')
  await clock.advance(60_000)
  t.ok(one.leads())
  t.notOk(two.leads())
  const { spec } = await read('words')
  const renewed = new Date(String(spec?.renewTime)).getTime()
  t.match(spec, { holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 })
  t.equal(String(spec?.acquireTime), '2026-01-01T00:00:00.000000Z')
  t.ok(clock.now() - renewed <= 2_000, 'renewed every two seconds')
})

t.test('when the leader is cut off, another leads within 15 s, and not before its term is over', async (t) => {
  const one = new Candidate('cut', 'one')
  await clock.advanceUntil(() => one.leads())
  const two = new Candidate('cut', 'two')
  await clock.advance(20_000)
  one.isCut = true
  const cutMs = clock.now()
  await clock.advanceUntil(() => !one.leads())
  const overMs = clock.now() - cutMs
  t.ok(overMs >= 8_000 && overMs <= 12_000, `over after ${overMs} ms`)
  t.match(one.term?.signal.reason, { name: 'TermOverError' })
  t.notOk(two.leads())
  await clock.advanceUntil(() => two.leads())
  const takenMs = clock.now() - cutMs
  t.ok(takenMs >= 13_000 && takenMs <= 15_100, `taken over after ${takenMs} ms`)
  t.match(await read('cut'), { spec: { holderIdentity: 'two', leaseTransitions: 1 } })
  one.isCut = false
  await clock.advance(60_000)
  t.notOk(one.leads(), 'a term that is over does not come back')
})

t.test('a cut shorter than the renew deadline changes nothing', async (t) => {
  const one = new Candidate('short', 'one')
  await clock.advanceUntil(() => one.leads())
  const two = new Candidate('short', 'two')
  await clock.advance(20_000)
  one.isCut = true
  await clock.advance(8_000)
  one.isCut = false
  await clock.advance(30_000)
  t.ok(one.leads())
  t.notOk(two.leads())
})

t.test('a Lease that is given up is taken at once', async (t) => {
  const one = new Candidate('release', 'one')
  await clock.advanceUntil(() => one.leads())
  const two = new Candidate('release', 'two')
  await clock.advance(5_000)
  const releasing = one.elector.release(one.term!)
  t.notOk(one.leads())
  const startMs = clock.now()
  await clock.advanceUntil(() => two.leads())
  await releasing
  t.ok(clock.now() - startMs <= 100, `taken after ${clock.now() - startMs} ms`)
  t.match(await read('release'), { spec: { holderIdentity: 'two', leaseTransitions: 1 } })
})

t.test('timestamps of the Lease decide nothing: its holder may have another clock', async (t) => {
  const spec = (renewTime: string) => ({
    holderIdentity: 'other',
    leaseDurationSeconds: 15,
    renewTime,
    acquireTime: renewTime,
  })
  const metadata = { namespace, name: 'skew' }
  await admin.create<object>(leases, { metadata, spec: spec('1999-01-01T00:00:00.000000Z') })
  const one = new Candidate('skew', 'one')
  for (const year of [1999, 2100, 2000, 1990]) {
    await clock.advance(14_000)
    t.notOk(one.leads())
    await admin.patch(leases, metadata, { spec: spec(`${year}-02-01T00:00:00.000000Z`) })
  }
  await clock.advanceUntil(() => one.leads(), { limitMs: 15_100 })
})

t.test('a leader that sees another holder stops at once; one whose Lease was deleted makes it again', async (t) => {
  const one = new Candidate('stolen', 'one')
  await clock.advanceUntil(() => one.leads())
  await admin.delete(leases, { namespace, name: 'stolen' })
  await clock.advance(5_000)
  t.ok(one.leads())
  await admin.patch(leases, { namespace, name: 'stolen' }, { spec: { holderIdentity: 'thief' } })
  await clock.advance(2_100)
  t.notOk(one.leads())
  t.match(one.term?.signal.reason, { message: 'the Lease is held by "thief"' })
})

t.test('a process that was stopped knows that its term is over before any timer fires', async (t) => {
  let nowMs = 0
  const machine = { ...clock, monotonic: () => nowMs, setTimer: () => ({ cancel() {} }) }
  const term = new Term(leader, machine)
  term.extend(12_000)
  const client = termClient(admin, term)
  const metadata = { namespace: 'default', name: 'in-time' }
  await client.create(configMaps, { metadata })
  nowMs = 12_000
  await t.rejects(client.create(configMaps, { metadata: { ...metadata, name: 'late' } }), { name: 'TermOverError' })
  await t.rejects(admin.get(configMaps, { namespace: 'default', name: 'late' }), { code: 404 })
  term.extend(20_000)
  t.notOk(term.isHeld(), 'what is over stays so')
})

t.test('what is under way when the term ends is given up', async (t) => {
  const term = new Term(leader, clock)
  term.extend(clock.monotonic() + 12_000)
  const hanging = { get: () => new Promise(() => {}) } as unknown as Client
  const asked = termClient(hanging, term).get(configMaps, { name: 'x' })
  const refused = t.rejects(asked, { name: 'TermOverError', message: 'the Lease was not renewed in time' })
  await clock.advance(12_000)
  await refused
})

t.test('never do two lead, whatever the network does; and one does when it is whole', async (t) => {
  let seed = 4711
  const random = (): number => {
    seed = (seed * 48_271) % 0x7fffffff
    return seed / 0x7fffffff
  }
  const candidates = ['one', 'two', 'three'].map((name) => new Candidate('storm', name, random))
  let terms = 0
  const together = new Set<string>()
  for (let step = 0; step < 150; step++) {
    candidates[Math.floor(random() * candidates.length)]!.isCut = random() < 0.6
    await clock.advance(random() * 6_000)
    const leading = candidates.filter((one) => one.leads()).map(({ identity }) => identity)
    if (leading.length > 1) together.add(leading.join())
    candidates.forEach((one, index) => {
      if (!one.term || one.leads()) return
      terms++
      candidates[index] = new Candidate('storm', `${one.identity}+`, random)
    })
  }
  t.same([...together], [], 'that led together')
  t.ok(terms > 5, `${terms} terms`)
  for (const candidate of candidates) candidate.isCut = false
  await clock.advanceUntil(() => candidates.some((one) => one.leads()), { limitMs: 20_000 })
})

t.test('durations that cannot work are refused by the name of their flag', async (t) => {
  const wrong = [
    [{ leaseDurationMs: 10_000 }, '--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline'],
    [{ leaseDurationMs: 500 }, '--leader-elect-lease-duration must be whole seconds, at least 1s'],
    [
      { renewDeadlineMs: 2_400 },
      '--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period',
    ],
    [{ retryPeriodMs: 0 }, '--leader-elect-retry-period must be longer than 0s'],
  ] as const
  for (const [change, message] of wrong) t.throws(() => checkElectionTimes({ ...times, ...change }), { message })
  checkElectionTimes(times)
})
