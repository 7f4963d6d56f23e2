/** `kubestage terminations`: what is counted, and what a terminal is spared. */
import { rmSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { summarize, tableOf } from '../../cli/terminations/summary.ts'
import type { Termination } from '../../shared/api/termination.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { terminations } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'

const record = (name: string, change: Partial<Termination> = {}): Termination => ({
  metadata: { name, namespace: 'default' },
  cause: 'PodDeleted',
  verdictType: 'Stopped',
  gracePeriodSeconds: 30,
  startTime: '2026-01-01T00:00:00.000000Z',
  endTime: '2026-01-01T00:00:02.000000Z',
  ...change,
})
const records = [
  record('a', { reason: 'Update', workload: 'Deployment/web', requests: [{ user: 'jane', time: '' }] }),
  record('b', { reason: 'Update', verdictType: 'NoHandler', endTime: '2026-01-01T00:00:30.000000Z' }),
  record('c', { startTime: '2026-01-01T00:01:00.000000Z', endTime: '2026-01-01T00:01:01.000000Z' }),
]

t.test('groups, the largest first', (t) => {
  t.match(summarize(records, 'reason'), [
    { value: 'Update', count: 2, killed: 1, givenSeconds: 30, usedSeconds: 16, last: '2026-01-01T00:00:00.000000Z' },
    { value: '', count: 1, killed: 0, givenSeconds: 30, usedSeconds: 1, last: '2026-01-01T00:01:00.000000Z' },
  ])
  const values = (by: 'user' | 'workload' | 'verdict' | 'cause') => summarize(records, by).map(({ value }) => value)
  t.same(values('user'), ['', 'jane'])
  t.same(values('workload'), ['', 'default/Deployment/web'])
  t.same(values('verdict'), ['Stopped', 'NoHandler'])
  t.same(values('cause'), ['PodDeleted'])
  const idle = record('d', { reason: 'Update', verdictType: 'NotStarted', gracePeriodSeconds: undefined })
  const [update] = summarize([...records, idle], 'reason')
  t.match(update, { count: 3, givenSeconds: 30, usedSeconds: 16 }, 'a pod without containers gave them no grace')
  t.end()
})

t.test('no reason moves the cursor, breaks a line or turns it round', (t) => {
  const hostile = fc.constantFrom('\u001b[2J', 'a\nb', '\u202eevil', '\r', '\u0000', '\u2028', '\ud800', '\u0085')
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string({ unit: 'binary', maxLength: 90 }), hostile), { maxLength: 5 }),
      (reasons) => {
        const found = summarize(
          reasons.map((reason, index) => record(String(index), { reason })),
          'reason',
        )
        return tableOf(found, 'reason')
          .flat()
          .every((cell) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(cell))
      },
    ),
    { numRuns: 30 },
  )
  t.equal(tableOf(summarize([record('a', { reason: '\u001b[31mred' })], 'reason'), 'reason')[1]![0], '\\u{1b}[31mred')
  t.end()
})

t.test('of a cluster that keeps them in a file, also after a restart', async (t) => {
  const stateDir = scratchFolder(t, 'terminations')
  const up = () =>
    startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`, `--storage=sqlite:${stateDir}/objects.db`])
  const ask = async (...flags: string[]) => {
    const asked = startCommand(t, ['terminations', `--state-dir=${stateDir}`, ...flags])
    return { code: await asked.ended, text: asked.output() }
  }
  const first = up()
  await first.printed('is ready')
  const client = createRestClient({ ...(await loadKubeconfig(`${stateDir}/kubeconfig`)), clock: realClock })
  for (const one of records)
    await client.create(terminations, { ...one, requests: undefined }, { namespace: 'default' })
  await client.close()
  t.match(await ask(), { code: 0, text: /^REASON +COUNT +KILLED +GRACE +USED +LAST\nUpdate +2 +1 +30 s +16\.0 s/m })
  t.match(await ask('--selector=colour=red'), { code: 2, text: 'field label not supported: colour' })
  t.match(await ask('--by=colour'), { code: 2, text: 'by' })
  await first.stop()
  const second = up()
  await second.printed('is ready')
  const { text } = await ask('--by=verdict', '--namespace=default', '--output=json')
  t.match(JSON.parse(text), {
    by: 'verdict',
    total: 3,
    items: [{ value: 'Stopped', count: 2 }, { value: 'NoHandler' }],
  })
  await second.stop()
  rmSync(`${stateDir}/objects.db`, { force: true })
})
