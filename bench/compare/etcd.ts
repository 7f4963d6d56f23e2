/** Kubestage with its objects in etcd: beside kube-apiserver on the same etcd, bare puts, and a second server. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EtcdClient } from '../../apiserver/storage/etcd/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { fanOut, load, median, together } from '../load.ts'
import { CONNECTIONS, create, currentVersion, get, PODS, patch } from '../measure.ts'
import type { Server } from '../processes.ts'
import { type Comparison, reportNow } from '../report.ts'
import { type Etcd, startEtcd } from './etcd-server.ts'
import { startKubeApiServer } from './real-server.ts'
import { comparable, fillBoth, measureFigures } from './versus.ts'

const OURS = '/kubestage'
const PUTS = '/bare/'
const WRITERS = 64
const WRITES = 1_920
const WATCHERS = 100
const WATCHED_WRITES = 50
const WARM_ROUNDS = 5
/** Of two servers, or of one: as many clients as keep both busy, since what many ask at once is answered together. */
const TOGETHER = { gets: 20_000, connections: 4 * CONNECTIONS, watchers: 10 * WATCHERS }

const wanted = ['get', 'create', 'merge patch', 'list of 1,000 pods', 'watch, 1 watcher', 'watch, 100 watchers']

export interface EtcdBenchOptions {
  /** With kube-apiserver and etcd; without it etcd is the one on the PATH, and we are compared with our own memory. */
  bin: string | undefined
  rounds: number
  /** A new server of Kubestage with these flags. `folder`: for its state. */
  start(folder: string, flags: readonly string[]): Promise<Server>
}

export interface EtcdFigures {
  requests: Comparison[]
  puts: Comparison[]
  servers: Comparison[]
}

export async function measureEtcd({ bin, rounds, start }: EtcdBenchOptions): Promise<EtcdFigures> {
  const scratch = mkdtempSync(join(tmpdir(), 'kubestage-etcd-'))
  const folder = (name: string): string => mkdtempSync(join(scratch, `${name}-`))
  const running: Pick<Server, 'stop'>[] = []
  const also = <Part extends Pick<Server, 'stop'>>(part: Part): Part => {
    running.push(part)
    return part
  }
  try {
    const etcd = also(await startEtcd({ program: bin ? join(bin, 'etcd') : 'etcd', folder: folder('etcd') }))
    const flags = ['--storage', `etcd:${etcd.url}`, '--etcd-prefix', OURS]
    const first = folder('first')
    const ours = also(await start(first, flags))
    const real = also(
      bin
        ? await startKubeApiServer({ bin, folder: folder('real'), etcdUrl: etcd.url })
        : await start(folder('memory'), []),
    )
    for (const { target } of [ours, real]) await fillBoth(target)
    const requests = await measureFigures({ ours, real }, rounds, comparable(wanted))
    const puts = [reportNow(await measurePuts({ ours, etcd, rounds }))]
    const second = folder('second')
    cpSync(join(first, 'pki'), join(second, 'pki'), { recursive: true })
    const other = also(await start(second, flags))
    const servers = await measureServers([ours, other], rounds)
    return { requests, puts, servers }
  } finally {
    for (const { stop } of running.toReversed()) await stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Creates through the server, and puts of what they store by a client of etcd, in turns. CPU time: the server's with
 * etcd's, and etcd's with that of the client, which is this process.
 */
async function measurePuts({ ours, etcd, rounds }: { ours: Server; etcd: Etcd; rounds: number }): Promise<Comparison> {
  const client = new EtcdClient({ endpoints: [etcd.url], clock: realClock })
  const key = `${OURS}/pods/bench/stored-0`
  const { kvs } = await client.call('range', { key }, { isRepeatable: true })
  const value = kvs[0]!.value
  const put = (i: number, round: number) =>
    client.call('txn', { success: [{ request_put: { key: `${PUTS}${round}-${i}`, value } }] }, { isRepeatable: true })
  const figure = { ours: [] as number[], real: [] as number[] }
  const cpu = { ours: [] as number[], real: [] as number[] }
  const ownCpuMs = (): number => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000
  for (let round = 0; round <= rounds; round++) {
    let before = 0
    const begin = (): void => {
      before = ours.cpuMs() + etcd.cpuMs()
    }
    const request = (i: number) => create(`put-${round}-${i}`)
    const { perSecond } = await load(ours.target, { count: WRITES, connections: WRITERS, request, begin })
    const created = ours.cpuMs() + etcd.cpuMs() - before
    before = ownCpuMs() + etcd.cpuMs()
    const bare = await puts((i) => put(i, round))
    const stored = ownCpuMs() + etcd.cpuMs() - before
    if (round === 0) continue
    figure.ours.push(perSecond)
    figure.real.push(bare)
    cpu.ours.push((created * 1000) / WRITES)
    cpu.real.push((stored * 1000) / WRITES)
  }
  client.close()
  return {
    what: `create, ${WRITERS} connections`,
    unit: '/s',
    figure: { ours: median(figure.ours), real: median(figure.real) },
    cpuMicroseconds: { ours: median(cpu.ours), real: median(cpu.real) },
  }
}

async function puts(put: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const writer = async (): Promise<void> => {
    while (next < WRITES) await put(next++)
  }
  const startedMs = realClock.monotonic()
  await Promise.all(Array.from({ length: WRITERS }, writer))
  return (WRITES / (realClock.monotonic() - startedMs)) * 1000
}

/** Of a number of requests or deliveries, on these servers. `begin` is called when all connections are open. */
type Work = (servers: readonly Server[], mark: string, begin: () => void) => Promise<number>

const gets: Work = async (servers, _, begin) => {
  const [count, connections] = [TOGETHER.gets / servers.length, TOGETHER.connections / servers.length]
  const all = together(servers.length, begin)
  const each = ({ target }: Server) => load(target, { count, connections, request: get, begin: all })
  await Promise.all(servers.map(each))
  return TOGETHER.gets
}

const deliveries: Work = async ([first, ...others], mark, begin) => {
  const { target } = first!
  await fanOut(target, {
    watchers: TOGETHER.watchers,
    count: WATCHED_WRITES,
    watchPath: `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`,
    write: (i) => patch(i, mark),
    others: others.map((other) => other.target),
    begin,
  })
  return TOGETHER.watchers * WATCHED_WRITES
}

/**
 * CPU time of the busier server per request, where two share the clients and where one has them all: with a core for
 * each process, so many times the requests are served.
 */
async function measureServers(servers: readonly [Server, Server], rounds: number): Promise<Comparison[]> {
  const busiest = async (some: readonly Server[], work: Work, mark: string): Promise<number> => {
    let before: number[] = []
    const begin = (): void => {
      before = some.map(({ cpuMs }) => cpuMs())
    }
    const requests = await work(some, mark, begin)
    return (Math.max(...some.map(({ cpuMs }, i) => cpuMs() - before[i]!)) * 1000) / requests
  }
  const rows: Comparison[] = []
  const both = [
    [`get, ${TOGETHER.connections} connections`, gets],
    [`watch, ${TOGETHER.watchers.toLocaleString('en')} watchers`, deliveries],
  ] as const
  for (const [what, work] of both) {
    const figure = { ours: [] as number[], real: [] as number[] }
    // The first has served all that was measured before.
    for (let round = 0; round < WARM_ROUNDS; round++) await work([servers[1]], `warm-${round}`, () => {})
    for (let round = 0; round <= rounds; round++) {
      const two = await busiest(servers, work, `two-${round}`)
      const one = await busiest([servers[0]], work, `one-${round}`)
      if (round === 0) continue
      figure.ours.push(two)
      figure.real.push(one)
    }
    const medians = { ours: median(figure.ours), real: median(figure.real) }
    rows.push(reportNow({ what, unit: 'CPU µs, busier server', smallerIsBetter: true, figure: medians }))
  }
  return rows
}
