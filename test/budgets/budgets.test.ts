/**
 * What a client can make the server do stays in proportion to what it sends: known attacks on HTTP/2 and on Kubernetes API
 * servers, each with a budget of CPU time (not of the clock, so that a busy machine changes nothing), of a bystander's wait
 * and of memory. After each the server is as before.
 */
import t from 'tap'
import { http2OfRun } from '../harness/http2-of-run.ts'
import { type Attack, type Budget, defaultBudget } from './attack.ts'
import { Attacker } from './attacker.ts'
import { attacksByKind, foundByAttacks } from './attacks/all.ts'
import { Bystander } from './bystander.ts'
import { ServerProcess } from './server-process.ts'
import { verdicts } from './verdict.ts'

const attacks = Object.values(attacksByKind).flat()
/** BUDGET=yaml runs those with the word in their names. */
const chosen = attacks.filter(({ name }) => new RegExp(process.env.BUDGET ?? '').test(name))
/** node:http2 makes an object for each stream, so that others wait longer meanwhile (docs/configuration.md). */
const slowWithNode = /^(rapid reset|SETTINGS full of window sizes|bodies that never come, over HTTP\/2)/
const budgetOf = ({ name, budget }: Attack): Budget => ({
  ...defaultBudget,
  ...budget,
  ...(http2OfRun === 'node' && slowWithNode.test(name) && { bystanderMs: 2_000 }),
})
const samples = 50
const afterwards = 5

t.setTimeout(1_200_000)
const server = await ServerProcess.start(t)
const bystander = new Bystander(t, server, '/api/v1/namespaces/default')

async function bystanderCost(): Promise<number> {
  await bystander.served(samples)
  const before = await server.rest()
  const { waits } = await bystander.served(samples)
  const after = await server.ask('usage')
  return (after.cpuMs - before.cpuMs) / waits.length
}
const seed = new Attacker(server.started)
await seed.ask('admin', foundByAttacks, [201])
if (seed.wrong.length > 0) throw new Error(seed.wrong.join())
seed.leave()
const bystanderCpuMs = await bystanderCost()
t.comment(`a request of the bystander costs ${bystanderCpuMs.toFixed(2)} ms of CPU time`)

async function carryOut(attack: Attack) {
  const attacker = new Attacker(server.started)
  const before = await server.ask('collect')
  await bystander.seen()
  await attacker.carryOut(attack)
  const after = await server.rest()
  const during = await bystander.seen()
  attacker.leave()
  await server.rest()
  await bystander.seen()
  const measured = {
    ...attacker,
    before,
    after,
    during,
    afterwards: await bystander.served(afterwards),
    collected: await server.ask('collect'),
    bystanderCpuMs,
  }
  return { attacker, measured }
}

for (const attack of chosen) {
  t.test(attack.name, async (t) => {
    const { attacker, measured } = await carryOut(attack)
    for (const { what, value, limit } of verdicts(measured, budgetOf(attack))) {
      t.ok(value <= limit, `${what}: ${value.toFixed(1)} of ${limit.toFixed(1)}`)
    }
    t.same(measured.during.failures, [], 'the bystander is served')
    t.same(attacker.wrong.slice(0, 5), [], 'answers')
  })
}
