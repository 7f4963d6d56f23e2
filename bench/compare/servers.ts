/**
 * Two API servers of one cluster, which share a store in memory, beside one alone: the CPU time of the busier process
 * for each request, in turns. With a core for each process, so many times the requests are served.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Target } from '../http2-connection.ts'
import { fanOut, load, median, together } from '../load.ts'
import { CONNECTIONS, create, currentVersion, get, PODS, patch } from '../measure.ts'
import { processCpuMs, startKubestage } from '../processes.ts'
import { type Comparison, reportNow } from '../report.ts'
import { fillBoth } from './versus.ts'

interface Member {
  target: Target
  pid: number
}

/** Works for a number of requests or deliveries, shared by the members alike; `begin` when all connections are open. */
type Work = (members: readonly Member[], mark: string, begin: () => void) => Promise<number>

const GETS = 8_000
const CREATES = 1_000
const LISTS = 16
const WATCHERS = 200
const WRITES = 50
const WARM_ROUNDS = 5

const requests =
  (count: number, request: (i: number, mark: string) => ReturnType<typeof get>): Work =>
  async (members, mark, begin) => {
    const all = together(members.length, begin)
    const share = { count: count / members.length, connections: (4 * CONNECTIONS) / members.length, begin: all }
    await Promise.all(
      members.map(({ target }, at) =>
        load(target, { ...share, request: (i) => request(i * members.length + at, mark) }),
      ),
    )
    return count
  }

const deliveries: Work = async ([first, ...others], mark, begin) => {
  const { target } = first!
  await fanOut(target, {
    watchers: WATCHERS,
    count: WRITES,
    watchPath: `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`,
    write: (i) => patch(i, mark),
    others: others.map((other) => other.target),
    begin,
  })
  return WATCHERS * WRITES
}

const figures: readonly (readonly [what: string, work: Work])[] = [
  ['get', requests(GETS, get)],
  ['list of 1,000 pods', requests(LISTS, () => ({ method: 'GET', path: `${PODS}?labelSelector=!none` }))],
  [`watch, ${WATCHERS} watchers`, deliveries],
  // Last: what it creates would be listed.
  ['create', requests(CREATES, (i, mark) => create(`servers-${mark}-${i}`))],
]

/** Of one alone, and of two. */
export async function measureSharedStore(rounds: number, flags: readonly string[]): Promise<Comparison[]> {
  const [one, two] = [await startCluster(flags), await startCluster([...flags, '--apiservers', '2'])]
  try {
    for (const { members } of [one, two]) await fillBoth(members[0]!.target)
    const rows: Comparison[] = []
    for (const [what, work] of figures) {
      const figure = { ours: [] as number[], real: [] as number[] }
      for (let round = -WARM_ROUNDS; round < rounds; round++) {
        const mark = `${rows.length}-${round + WARM_ROUNDS}`
        const ours = await busiest(two.members, work, mark)
        const real = await busiest(one.members, work, mark)
        if (round < 0) continue
        figure.ours.push(ours)
        figure.real.push(real)
      }
      const medians = { ours: median(figure.ours), real: median(figure.real) }
      rows.push(reportNow({ what, unit: 'CPU µs, busier server', smallerIsBetter: true, figure: medians }))
    }
    return rows
  } finally {
    await two.stop()
    await one.stop()
  }
}

async function busiest(members: readonly Member[], work: Work, mark: string): Promise<number> {
  let before: number[] = []
  const begin = (): void => {
    before = members.map(({ pid }) => processCpuMs(pid))
  }
  const count = await work(members, mark, begin)
  return (Math.max(...members.map(({ pid }, at) => processCpuMs(pid) - before[at]!)) * 1000) / count
}

async function startCluster(flags: readonly string[]): Promise<{ members: Member[]; stop(): Promise<void> }> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-servers-'))
  const { target, stop } = await startKubestage({ stateDir, flags: [...flags] })
  const running = JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8')) as {
    pid: number
    url: string
    ownUrl?: string
    otherServers?: { url: string; pid: number }[]
  }
  const members = [{ pid: running.pid, url: running.ownUrl ?? running.url }, ...(running.otherServers ?? [])].map(
    ({ url, pid }) => ({
      pid,
      target: { ...target, port: Number(new URL(url).port) },
    }),
  )
  return {
    members,
    async stop() {
      await stop()
      rmSync(stateDir, { recursive: true, force: true })
    },
  }
}
