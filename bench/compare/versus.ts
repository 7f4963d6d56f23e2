/**
 * The same requests to Kubestage and to a real API server, in turns, so that what the machine does meanwhile hits both
 * alike.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { Http2Connection, type Request, type Target } from '../http2-connection.ts'
import { type Begin, fanOut, load, median, quantile, transfer } from '../load.ts'
import { apply, CONNECTIONS, create, currentVersion, DEPLOYMENTS, get, PODS, patch, prepare } from '../measure.ts'
import type { Server } from '../processes.ts'
import { type Comparison, reportNow } from '../report.ts'
import { startRealServer } from './real-server.ts'

const STORED = 1_000
/** What a start took is given back by then. */
const SETTLED_MS = 1_500

/**
 * What one round of a figure says: the figure itself, and for how many requests (or deliveries) the server has worked.
 */
interface Round {
  figure: number
  requests: number
}

export interface Figure {
  what: string
  unit: string
  smallerIsBetter?: boolean
  /** Different marks make different requests. */
  round(target: Target, options: { mark: string; begin: Begin }): Promise<Round>
}

/** So many requests over all connections. */
export const rate =
  (count: number, request: (i: number, mark: string) => Request): Figure['round'] =>
  async (target, { mark, begin }) => {
    const options = { count, connections: CONNECTIONS, request: (i: number) => request(i, mark), begin }
    const { perSecond } = await load(target, options)
    return { figure: perSecond, requests: count }
  }

const remove = (name: string): Request => ({ method: 'DELETE', path: `${PODS}/${name}?gracePeriodSeconds=0` })

const createAlone: Figure['round'] = async (target, { mark, begin }) => {
  const count = 100
  const request = (i: number) => create(`alone-${mark}-${i}`)
  return { figure: (await load(target, { count, connections: 1, request, begin })).p50Ms, requests: count }
}

const list: Figure['round'] = async (target, { begin }) => {
  const { megabytes, ms } = await transfer(target, PODS, begin)
  return { figure: (megabytes / ms) * 1000, requests: 1 }
}

/** So many changes, and the delivery of each to all watchers. `oneByOne`: see {@link fanOut}. */
export function watch(watchers: number, count: number, oneByOne = false): Figure['round'] {
  return async (target, { mark, begin }) => {
    const watchPath = `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`
    const write = (i: number) => patch(i, `watch-${watchers}-${mark}`)
    const { deliveriesPerSecond } = await fanOut(target, { watchers, count, watchPath, write, begin, oneByOne })
    return { figure: deliveriesPerSecond, requests: watchers * count }
  }
}

/** In this order: what is created is deleted. */
const figures: readonly Figure[] = [
  { what: 'get', unit: '/s', round: rate(1_000, get) },
  { what: 'create', unit: '/s', round: rate(300, (i, mark) => create(`new-${mark}-${i}`)) },
  { what: 'delete', unit: '/s', round: rate(300, (i, mark) => remove(`new-${mark}-${i}`)) },
  { what: 'create, 1 connection, p50', unit: 'ms', smallerIsBetter: true, round: createAlone },
  { what: 'merge patch', unit: '/s', round: rate(300, (i, mark) => patch(i, `patch-${mark}`)) },
  { what: 'server-side apply, nothing new', unit: '/s', round: rate(300, apply) },
  { what: `list of ${STORED.toLocaleString('en')} pods`, unit: 'MB/s', round: list },
  { what: 'watch, 1 watcher', unit: 'deliveries/s', round: watch(1, 200) },
  { what: 'watch, 100 watchers', unit: 'deliveries/s', round: watch(100, 50) },
  { what: 'watch, 1,000 watchers', unit: 'deliveries/s', round: watch(1_000, 10) },
]

export const comparable = (names: readonly string[]): Figure[] => figures.filter(({ what }) => names.includes(what))

/**
 * How long after the answer to a create its event is seen, under the load of all connections; negative when it is seen
 * before.
 */
async function delays(target: Target, mark: string): Promise<number[]> {
  const count = 300
  const seenMs = new Map<string, number>()
  const watcher = await Http2Connection.open(target)
  let rest = ''
  await watcher.stream(`${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`, (payload) => {
    const lines = (rest + payload).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) seenMs.set(/"name":"([^"]*)"/.exec(line)?.[1] ?? '', realClock.monotonic())
  })
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Http2Connection.open(target)))
  const answeredMs = new Map<string, number>()
  const writer = async (connection: Http2Connection, writer: number): Promise<void> => {
    for (let i = writer; i < count; i += CONNECTIONS) {
      const name = `seen-${mark}-${i}`
      await connection.request(create(name))
      answeredMs.set(name, realClock.monotonic())
    }
  }
  await Promise.all(connections.map(writer))
  for (const deadlineMs = realClock.monotonic() + 10_000; seenMs.size < count; await realClock.sleep(5)) {
    if (realClock.monotonic() > deadlineMs) throw new Error(`${seenMs.size} of ${count} events were seen`)
  }
  for (const connection of [watcher, ...connections]) connection.close()
  return [...answeredMs].map(([name, ms]) => seenMs.get(name)! - ms).sort((a, b) => a - b)
}

type Side = 'ours' | 'real'
type Sides<T> = Record<Side, T>
const sides = ['ours', 'real'] as const

/** One round of one server, with the CPU time that the server took for each request. */
export async function turn({ target, cpuMs }: Pick<Server, 'target' | 'cpuMs'>, round: Figure['round'], mark: string) {
  let before = 0
  const begin = (): void => {
    before = cpuMs()
  }
  const { figure, requests } = await round(target, { mark, begin })
  return { figure, cpuMicroseconds: ((cpuMs() - before) * 1000) / requests }
}

/**
 * Measures figures one after the other, and reports each at once. A figure that fails is reported and left out: a real
 * server that is short of CPU time closes watches that lag behind.
 */
export async function measureFigures(
  servers: Sides<Server>,
  rounds: number,
  figures: readonly Figure[],
): Promise<Comparison[]> {
  const rows: Comparison[] = []
  for (const figure of figures) {
    try {
      rows.push(reportNow(await measured(servers, rounds, figure)))
    } catch (error) {
      process.stderr.write(`${figure.what}: ${(error as Error).message}\n`)
    }
  }
  return rows
}

/**
 * Of both, after a round that warms them up. CPU time is the server's own, with all its processes, in µs per request.
 */
export async function measured(servers: Sides<Server>, rounds: number, { what, unit, smallerIsBetter, round }: Figure) {
  const figure: Sides<number[]> = { ours: [], real: [] }
  const cpu: Sides<number[]> = { ours: [], real: [] }
  for (let i = 0; i <= rounds; i++) {
    for (const side of i % 2 ? sides : sides.toReversed()) {
      const one = await turn(servers[side], round, `${i}`).catch((error: Error) => {
        throw new Error(`${side}, round ${i}: ${error.message}`)
      })
      if (i === 0) continue
      figure[side].push(one.figure)
      cpu[side].push(one.cpuMicroseconds)
    }
  }
  const medians = ({ ours, real }: Sides<number[]>): Sides<number> => ({ ours: median(ours), real: median(real) })
  return { what, unit, smallerIsBetter, figure: medians(figure), cpuMicroseconds: medians(cpu) } satisfies Comparison
}

async function measureDelays(servers: Sides<Server>, rounds: number): Promise<Comparison[]> {
  const all: Sides<number[]> = { ours: [], real: [] }
  for (let i = 0; i <= rounds; i++) {
    for (const side of sides) all[side].push(...(i === 0 ? [] : await delays(servers[side].target, `${i}`)))
  }
  for (const side of sides) all[side].sort((a, b) => a - b)
  const at = (p: number): Sides<number> => ({ ours: quantile(all.ours, p), real: quantile(all.real, p) })
  const row = { unit: 'ms', isDifference: true }
  return [
    { ...row, what: "event after its writer's answer, p50", figure: at(0.5) },
    { ...row, what: "event after its writer's answer, p99", figure: at(0.99) },
  ]
}

async function measureStarts(startOurs: () => Promise<Server>, startReal: () => Promise<Server>, rounds: number) {
  const ms: Sides<number[]> = { ours: [], real: [] }
  const rss: Sides<number[]> = { ours: [], real: [] }
  for (let i = 0; i < rounds; i++) {
    for (const [side, start] of [['ours', startOurs] as const, ['real', startReal] as const]) {
      const server = await start()
      await realClock.sleep(SETTLED_MS)
      ms[side].push(server.readyMs)
      rss[side].push(server.rssMegabytes())
      await server.stop()
    }
  }
  const row = { smallerIsBetter: true }
  return [
    { ...row, what: 'start to /readyz', unit: 'ms', figure: { ours: median(ms.ours), real: median(ms.real) } },
    { ...row, what: 'RSS after the start', unit: 'MB', figure: { ours: median(rss.ours), real: median(rss.real) } },
  ] satisfies Comparison[]
}

export interface VersusOptions {
  /** The folder with kube-apiserver and etcd. */
  bin: string
  rounds: number
  /** A new Kubestage server, without a kubelet. */
  startOurs(): Promise<Server>
}

/** kube-apiserver and etcd beside us. */
export async function measureVersus({ bin, rounds, startOurs }: VersusOptions): Promise<Comparison[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'kubestage-real-'))
  const startReal = () => startRealServer({ bin, folder: mkdtempSync(join(scratch, 'server-')) })
  try {
    const rows: Comparison[] = await measureStarts(startOurs, startReal, rounds)
    const servers = { ours: await startOurs(), real: await startReal() }
    try {
      for (const side of sides) await fillBoth(servers[side].target)
      rows.push(...(await measureFigures(servers, rounds, figures)))
      rows.push(...(await measureDelays(servers, rounds)))
      const rss = { ours: servers.ours.rssMegabytes(), real: servers.real.rssMegabytes() }
      rows.push({ what: 'RSS after all this', unit: 'MB', smallerIsBetter: true, figure: rss })
    } finally {
      for (const side of sides) await servers[side].stop()
    }
    return rows
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

export async function fillBoth(target: Target): Promise<void> {
  await prepare(target)
  await load(target, { count: STORED, connections: CONNECTIONS, request: (i) => create(`stored-${i}`) })
  await load(target, { count: DEPLOYMENTS, connections: CONNECTIONS, request: apply })
}
