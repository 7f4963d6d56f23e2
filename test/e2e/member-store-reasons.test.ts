/** examples/member-store in each situation of the table of reasons: no data is lost, and none is moved without need. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { resources, startCluster } from '../../library/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import { type Cell, type Row, reasonRows, reasonTable } from '../../shared/reasons/reason-table.ts'
import { whySkip } from '../harness/member-store/objects.ts'
import { Arenas, commonPool, type Departure, MemberStage } from '../harness/member-store/stage.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { actOf } from '../harness/situations/index.ts'
import { until } from '../harness/until.ts'

t.setTimeout(600_000)
t.jobs = 6
const scale = 10
const replicas = 2
/** Of a member that gets one of these reasons another pod takes the folder, sooner or later. */
const returning: readonly (string | null)[] = ['Update', 'Eviction', 'IntolerableTaint', 'Suspended']

const folder = scratchFolder(t, 'member-store')
const cluster = await startCluster({ nodes: 4, time: scale })
t.teardown(() => cluster.close())
const { client } = cluster
const { nodes, pods } = resources
await client.patch(nodes, { name: 'node-1' }, { metadata: { labels: commonPool } })
const arenas = new Arenas(['node-2', 'node-3', 'node-4'])
const open = (namespace: string, options: { given?: string; elsewhere: string[] }): Promise<MemberStage> =>
  MemberStage.open({ cluster, namespace, root: join(folder, namespace), scale, arenas, ...options })
const skip = await whySkip(client)
/** Two members that stay all the time, so that there is always a member that can take what another has to give. */
const elsewhere = skip ? [] : await startStayers()

/**
 * Default: of each kind of owner one situation for each reason. `ROWS=all` plays every situation, `ROWS=Deployment` or
 * `ROWS='Job: suspended'` some.
 */
const chosen = process.env.ROWS
const seen = new Set<string>()
function isPlayed({ who, situation, told }: Row): boolean {
  if (chosen) return chosen === 'all' || `${who}: ${situation}`.includes(chosen)
  const kind = `${who} ${JSON.stringify(told)}`
  return !seen.has(kind) && !!seen.add(kind)
}
/** A pod has one second for these, which is a tenth of one here: a busy machine may not let its program say anything. */
const hurried = ['node pressure', 'local storage limit exceeded']
/** These take half a minute or more of waiting: they begin first. */
const slow = ['node pressure', 'not ready, or unreachable', 'concurrencyPolicy Replace']
const rows = reasonRows()
  .filter(isPlayed)
  .sort((a, b) => Number(slow.includes(b.situation)) - Number(slow.includes(a.situation)))
for (const row of rows) t.test(`${row.who}: ${row.situation}`, { buffered: true, skip }, (t) => play(t, row))

async function play(t: Test, { who, situation, told }: Row): Promise<void> {
  const namespace = `${who}-${situation}`
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '-')
    .slice(0, 60)
    .replace(/-$/, '')
  const isTold = typeof told === 'string' || told === null
  // A client that deletes the owner of members that come back gives the reason.
  const given = isTold ? undefined : situation.includes('by hand') ? 'Update' : 'Decommissioned'
  await using stage = await open(namespace, { given, elsewhere })
  const { pods: count, others = {} } = await actOf(who, situation)(stage)

  const inWords = (told: Row['told']) => (typeof told === 'string' || told === null ? told : (given ?? null))
  const cells = reasonTable[who] as Record<string, Cell>
  const expected = [
    ...Array(count).fill(inWords(told)),
    ...Object.entries(others).flatMap(([other, count]) => Array(count).fill(inWords(cells[other]![0]))),
    ...Array(stage.finished).fill('Finished'),
  ]
  const departures = await until(
    async () => {
      const left = stage.departures()
      const unheard = hurried.includes(situation) ? await recorded(stage, left) : []
      return left.length + unheard.length >= expected.length ? [...left, ...unheard] : undefined
    },
    { what: `${expected.length} members to leave`, timeoutMs: 30_000 },
  )
  // On a slow machine a run may be replaced before it is a member.
  const counted = who === 'CronJob' ? departures.filter(({ keys }) => keys > 0) : departures
  t.same(counted.map(({ reason }) => reason).sort(), expected.sort(), 'what the members are told')
  await checkData(t, stage, departures)
}

/** What the others were told, by their records. */
async function recorded(stage: MemberStage, left: Departure[]): Promise<Departure[]> {
  const records = await stage.records()
  return records
    .filter(({ podName }) => !left.some(({ pod }) => pod === podName))
    .map(({ podName, reason }) => ({ pod: podName ?? '', reason: reason ?? null, keys: 0, bytes: 0, isSilent: true }))
}

async function checkData(t: Test, stage: MemberStage, departures: Departure[]): Promise<void> {
  const bytesOf = (some: Departure[]): number => some.reduce((sum, { bytes }) => sum + bytes, 0)
  const back = departures.filter(({ reason }) => returning.includes(reason))
  t.equal(bytesOf(back), 0, 'members that come back move nothing')
  const gone = departures.filter(({ reason, keys }) => reason === 'Decommissioned' && keys > 0)
  if (gone.length > 0) t.ok(bytesOf(gone) > 0, 'members that do not come back move what they have')
  // A member that was killed before it said anything may not have flushed its copies.
  const copies = replicas - departures.filter(({ isSilent }) => isSilent).length
  // Evicted members have nowhere to go here, and suspended ones come back when the work goes on: until then they are their folders.
  const isAway = back.some(({ reason }) => reason !== 'Update')
  const isKept = async () => {
    const { live, all, lost } = await stage.kept()
    return lost.length === 0 && (isAway ? all : live) >= copies
  }
  await until(isKept, { what: 'all copies', timeoutMs: 30_000 }).catch(() => {})
  const { live, all, lost } = await stage.kept()
  t.same(lost, [], 'no data is lost')
  t.ok((isAway ? all : live) >= copies, `${copies} copies of each key: ${live} at members, ${all} with folders`)
  if (departures.length > 0) t.ok(stage.isWritten, 'there were data')
}

async function startStayers(): Promise<string[]> {
  const namespace = 'stayers'
  const stage = await open(namespace, { elsewhere: [] })
  await Promise.all(['one', 'two'].map((name) => stage.pod(name)))
  return (await client.list<Pod>(pods, { namespace })).items.map(({ status }) => status?.podIP ?? '')
}
