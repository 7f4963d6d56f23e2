/**
 * Requests that were once answered otherwise than by a kube-apiserver 1.36.3, with its answers. `npm run differential`
 * finds, shrinks and records them.
 */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { namespace } from '../../scripts/differential/bases.ts'
import type { Recorded } from '../../scripts/differential/case.ts'
import { answerOf, differenceOf } from '../../scripts/differential/compare.ts'
import { Player } from '../../scripts/differential/player.ts'
import { prepare, serverAt } from '../../scripts/differential/servers.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, 'differential/cases.json'), 'utf8'),
) as readonly Recorded[]

t.test(`recorded requests in the namespace ${namespace}`, async (t) => {
  const server = await startTestApiServer(t)
  const agent = new Agent({ keepAlive: true, ...server.tls })
  t.teardown(() => agent.destroy())
  const target = serverAt(`https://127.0.0.1:${server.port}`, agent)
  await prepare(target)
  const player = new Player(target)
  for (const [index, { name, steps }] of cases.entries()) {
    const object = `recorded-${index}`
    const answers = await player.play({ steps }, object)
    for (const [place, { method, path, answer }] of steps.entries()) {
      const difference = differenceOf(answerOf(answers[place]!, object), answer)
      if (difference) t.fail(`${name}: ${method} ${path}: ${difference.class} ${difference.at}`)
    }
  }
  t.ok(cases.length > 0, `${cases.length} cases were played`)
})
