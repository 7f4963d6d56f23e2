/** Each row of the table of reasons, on a running cluster: what its pods were told is in the records of their ends. */
import t, { type Test } from 'tap'
import type { Cluster } from '../../library/index.ts'
import { type Cell, type Row, reasonRows, reasonTable } from '../../shared/reasons/reason-table.ts'
import { actOf, needsProcesses, Stage } from '../harness/situations/index.ts'
import { start } from './stage.ts'

t.setTimeout(600_000)

t.jobs = 2 // simulated pods need the CPU, processes wait
const OWN = 'resolve issue 354961'
/** `ROWS=Deployment` or `ROWS='Job: suspended'`: only those rows. */
const only = process.env.ROWS ?? ''
const rows = reasonRows().filter(({ who, situation }) => `${who}: ${situation}`.includes(only))

/** In words that can be compared and read. */
const inWords = (cell: Cell | Row['told'], given?: string): string => {
  const told = Array.isArray(cell) ? cell[0] : cell
  return typeof told === 'string' ? told : told === null ? 'nothing' : (given ?? 'nothing')
}

let stages = 0
async function check(t: Test, cluster: Cluster, row: Row, given?: string): Promise<void> {
  const stage = await Stage.open({ cluster, namespace: `stage-${++stages}`, given })
  const { pods, others = {} } = await actOf(row.who, row.situation)(stage)
  const cells = reasonTable[row.who] as Record<string, Cell>
  const expected = [
    ...Array(pods).fill(inWords(row.told, given)),
    ...Object.entries(others).flatMap(([other, count]) => Array(count).fill(inWords(cells[other]!, given))),
  ]
  const records = await stage.until(async () => {
    const found = await stage.records()
    const isLeaving = (await stage.pods()).some(({ metadata }) => metadata.deletionTimestamp)
    return !isLeaving && found.length >= expected.length ? found : undefined
  }, `${expected.length} records`)
  const told = records.map(({ reason = 'nothing' }) => reason).sort()
  t.same(told, expected.sort(), given ? 'with a reason' : 'by itself')
}

for (const [kind, options] of Object.entries({
  'simulated pods': { simulatedNodes: 2, time: 'virtual' },
  'pods that are processes': { nodes: 2 },
} as const)) {
  const mine = rows.filter(({ who, situation }) => needsProcesses(who, situation) === 'nodes' in options)
  if (mine.length === 0) continue
  t.test(kind, async (t) => {
    const cluster = await start(t, options)
    for (const row of mine) {
      await t.test(`${row.who}: ${row.situation}`, async (t) => {
        await check(t, cluster, row)
        if (typeof row.told === 'object' && row.told !== null) await check(t, cluster, row, OWN)
      })
    }
  })
}
