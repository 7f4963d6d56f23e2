/**
 * Clients that may do next to nothing send whatever bodies on ten connections at once, and keep no other client
 * waiting. SECONDS=60 attacks for a minute each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { httpsExchange } from '../harness/https-exchange.ts'
import type { Request } from './attack.ts'
import { Attacker } from './attacker.ts'
import { type NamedRequest, podsOf, reviewsOf } from './bodies.ts'
import { Bystander } from './bystander.ts'
import { ServerProcess } from './server-process.ts'
import { p99 } from './verdict.ts'

const attackMs = Number(process.env.SECONDS ?? 6) * 1_000
const connections = 10
const requestsAtOnce = 20
const mostMb = 300
/** What is held afterwards, by caches that have a bound. */
const recoveredMb = 24
const mb = 1024 * 1024

t.setTimeout(2 * attackMs + 300_000)
const server = await ServerProcess.start(t)
const { port, tls } = server.started
const core = '/api/v1/namespaces/default'
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'

async function asAdmin(path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const options = { port, host: '127.0.0.1', ...tls, path, method: 'POST', headers }
  const { status, bytes } = await httpsExchange(options, JSON.stringify(body))
  if (status !== 201) throw new Error(String(bytes))
  return JSON.parse(String(bytes))
}

/** The header of a ServiceAccount that may do this, and what anybody may. */
async function account(name: string, rules: object[]): Promise<Request['headers']> {
  await asAdmin(`${core}/serviceaccounts`, { metadata: { name } })
  await asAdmin(`${rbac}/roles`, { metadata: { name }, rules })
  const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
  await asAdmin(`${rbac}/rolebindings`, { metadata: { name }, roleRef, subjects })
  const answer = await asAdmin(`${core}/serviceaccounts/${name}/token`, { spec: {} })
  return { authorization: `Bearer ${(answer as { status: { token: string } }).status.token}` }
}

/** Ten connections of one client, each of which always has so many requests under way. */
class Flood {
  readonly #attacker = new Attacker(server.started)
  readonly #requests: readonly Request[]
  readonly codes = new Map<number, number>()
  #isOver = false

  constructor(requests: readonly Request[]) {
    this.#requests = requests
  }

  /** Each of them once, one after the other: what a server loads for them is no growth. */
  async rehearse(): Promise<void> {
    const session = this.#attacker.session('anonymous')
    for (const request of this.#requests) await this.#attacker.request(session, request)
    session.destroy()
  }

  async last(ms: number): Promise<void> {
    const flood = Array.from({ length: connections }, (_, index) => this.#connection(index))
    await sleep(ms)
    this.#isOver = true
    await Promise.all(flood)
    this.#attacker.leave()
  }

  /** Each line of requests begins elsewhere. */
  async #connection(index: number): Promise<void> {
    const session = this.#attacker.session('anonymous')
    const line = async (_: unknown, number: number): Promise<void> => {
      for (let at = index * 31 + number * 7; !this.#isOver; at++) {
        const code = await this.#attacker.request(session, this.#requests[at % this.#requests.length]!)
        this.codes.set(code, (this.codes.get(code) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, line))
  }
}

async function holdsUp(
  t: Test,
  requests: NamedRequest[],
  { headers, mostWaitMs, codes }: { headers: Request['headers']; mostWaitMs: number; codes: number[] },
): Promise<void> {
  const bystander = new Bystander(t, server, core)
  const flood = new Flood(requests.map(({ request }) => ({ ...request, headers })))
  await flood.rehearse()
  await server.rest()
  await bystander.served(20)
  const before = await server.ask('collect')
  await flood.last(attackMs)
  const during = await bystander.seen()
  await server.rest()
  const after = await server.ask('collect')
  const answers = [...flood.codes].map(([code, count]) => `${count} × ${code}`).join(', ')
  t.comment(`${answers}; longest wait ${Math.max(...during.waits)} ms; ${(after.rssBytes / mb).toFixed(0)} MB`)
  t.same(during.failures, [], 'the bystander is served')
  t.ok(p99(during.waits) <= mostWaitMs, `99 of 100 wait for at most ${p99(during.waits)} ms of CPU time`)
  const more = (during.mostRssBytes - before.rssBytes) / mb
  t.ok(more <= mostMb, `${more.toFixed(0)} of ${mostMb} MB of memory more`)
  const held = (after.heldBytes - before.heldBytes) / mb
  t.ok(held <= recoveredMb, `${held.toFixed(1)} of ${recoveredMb} MB are held afterwards`)
  t.same(
    codes.filter((code) => !flood.codes.has(code)),
    [],
    'some are answered, some are refused',
  )
  t.notOk(flood.codes.has(500))
}

t.test('who may do nothing but review itself', async (t) => {
  // Too large; just not too large; like many requests.
  const requests = [3_000_000, 128_000, 8_000, 1_000].flatMap(reviewsOf)
  await holdsUp(t, requests, { headers: await account('reviewer', []), mostWaitMs: 300, codes: [201, 413, 422] })
})

t.test('who may do nothing but create pods', async (t) => {
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }]
  const requests = [2_900_000, 500_000, 100_000].flatMap((bytes) => podsOf(bytes))
  await holdsUp(t, requests, {
    headers: await account('creator', rules),
    mostWaitMs: 1_000,
    codes: [201, 413, 422, 429],
  })
})
