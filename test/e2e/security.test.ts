/** Each row of the table of what clients may not do, in docs/security.md, is tried on a cluster as a user starts it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { repository } from '../harness/cluster.ts'
import { anonymousAttempts, attemptsWithoutRole } from './security/anonymous.ts'
import type { Asker } from './security/ask.ts'
import type { Attempts, Setting } from './security/attempts.ts'
import { everyObjectRequest } from './security/everything.ts'
import { otherUserAttempts } from './security/machine.ts'
import { bootstrapAttempts, nodeAttempts } from './security/nodes.ts'
import { podAttempts } from './security/pods.ts'
import { type Client, startStage } from './security/stage.ts'
import { webPageAttempts } from './security/web-page.ts'

const stage = await startStage(t)
const ask = Object.fromEntries(
  Object.entries(stage.credentials).map(([name, who]) => [name, stage.apiServer(who)]),
) as Record<Client, Asker>
const setting: Setting = { stage, ask, everyObject: await everyObjectRequest(stage.admin) }

const attempts: Record<string, Attempts> = {
  'anonymous client': anonymousAttempts(setting),
  'user without a role': attemptsWithoutRole(setting),
  pod: podAttempts(setting),
  node: nodeAttempts(setting),
  'bootstrap token': bootstrapAttempts(setting),
  'another user of the machine': otherUserAttempts(setting),
  'web page': webPageAttempts(setting),
}

t.test('the page and the attempts name the same', async (t) => {
  const page = readFileSync(join(repository, 'docs/security.md'), 'utf8')
  const [, table = ''] = page.split('| client | may not |\n|---|---|\n')
  const rows = table
    .slice(0, table.indexOf('\n\n'))
    .split('\n')
    .map((row) => row.slice(2, -2))
  const tried = Object.entries(attempts).flatMap(([client, each]) =>
    Object.keys(each).map((what) => `${client} | ${what}`),
  )
  t.same(tried, rows)
})

for (const [client, each] of Object.entries(attempts))
  for (const [what, attempt] of Object.entries(each))
    t.test(`${client} may not ${what}`, (t) => attempt(t, ask[client as Client]))
