/**
 * A ServiceAccount without any role may only ask what it may do. It does so on ten connections at once, with whatever
 * bodies, and is in nobody's way. SECONDS=60 attacks for a minute.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { httpsExchange } from '../harness/https-exchange.ts'
import { Attacker } from './attacker.ts'
import { type NamedRequest, reviewsOf } from './bodies.ts'
import { Bystander } from './bystander.ts'
import { residentBytes, ServerProcess } from './server-process.ts'
import { p99 } from './verdict.ts'

const attackMs = Number(process.env.SECONDS ?? 6) * 1_000
const connections = 10
const requestsAtOnce = 20
/** Too large for a review; just not too large; of the size of many requests. */
const sizes = [3_000_000, 128_000, 8_000, 1_000]
const mostWaitMs = 200
const mostMb = 300
const mb = 1024 * 1024

t.setTimeout(attackMs + 240_000)
const server = await ServerProcess.start(t)
const { port, tls } = server.started

async function tokenOf(account: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${account}/token`
  const { status, bytes } = await httpsExchange(
    { port, host: '127.0.0.1', ...tls, path, method: 'POST', headers: { 'content-type': 'application/json' } },
    '{"spec":{}}',
  )
  if (status !== 201) throw new Error(String(bytes))
  return (JSON.parse(String(bytes)) as { status: { token: string } }).status.token
}

const authorization = `Bearer ${await tokenOf('default')}`
const requests: NamedRequest[] = sizes.flatMap((bytes) => reviewsOf(bytes))
const codes = new Map<number, number>()

/** One connection that always has so many requests under way, each line of them beginning elsewhere. */
async function attack(attacker: Attacker, connection: number, isOver: () => boolean): Promise<void> {
  const session = attacker.session('anonymous')
  const lines = Array.from({ length: requestsAtOnce }, async (_, line) => {
    for (let at = connection * 31 + line * 7; !isOver(); at++) {
      const { request } = requests[at % requests.length]!
      const code = await attacker.request(session, { ...request, headers: { authorization } })
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
  })
  await Promise.all(lines)
}

t.test('a client that may only review itself is in nobody’s way', async (t) => {
  const bystander = new Bystander(t, server, '/api/v1/namespaces/default')
  await bystander.served(50)
  // What a server has loaded when it was used for a while is no growth.
  const warming = new Attacker(server.started)
  const session = warming.session('anonymous')
  for (const { request } of requests) await warming.request(session, { ...request, headers: { authorization } })
  warming.leave()
  await server.rest()
  const before = await server.ask('collect')
  await bystander.seen()
  const attacker = new Attacker(server.started)
  let isOver = false
  const attacks = Array.from({ length: connections }, (_, index) => attack(attacker, index, () => isOver))
  await sleep(attackMs)
  const during = await bystander.seen()
  isOver = true
  await Promise.all(attacks)
  attacker.leave()
  await server.rest()
  const after = await server.ask('collect')
  const waits = during.waits.toSorted((a, b) => a - b)
  t.comment(`${[...codes].map(([code, count]) => `${count} × ${code}`)}; longest wait ${waits.at(-1)} ms`)
  t.same(during.failures, [], 'the bystander is served')
  t.ok(waits.length > attackMs / 1_000, `${waits.length} times`)
  t.ok(p99(waits) <= mostWaitMs, `99 of 100 wait for at most ${p99(waits)} of ${mostWaitMs} ms of CPU time`)
  const more = (during.mostRssBytes - before.rssBytes) / mb
  t.ok(more <= mostMb, `${more.toFixed(0)} of ${mostMb} MB of memory more`)
  const held = (after.heldBytes - before.heldBytes) / mb
  t.ok(held <= 24, `${held.toFixed(1)} MB are held afterwards`)
  t.comment(`${(residentBytes(server.pid) / mb).toFixed(0)} MB, ${(before.rssBytes / mb).toFixed(0)} before`)
  t.ok(codes.has(201) && codes.has(413) && codes.has(422), 'some are answered, some are refused')
  t.notOk(codes.has(500))
})
