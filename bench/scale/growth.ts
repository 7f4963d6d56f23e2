/**
 * What requests and the start of a pod cost a server that holds ever more objects, and what it costs when nobody asks.
 * docs/scale.md has its table.
 */
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Figure, rate, turn, watch } from '../compare/versus.ts'
import { Http2Connection, type Request } from '../http2-connection.ts'
import { load, median } from '../load.ts'
import { CONNECTIONS, currentVersion, PODS, prepare } from '../measure.ts'
import { measurePods } from '../pods.ts'
import { bareApi, type Server } from '../processes.ts'
import { aligned, figure } from '../report.ts'
import { samplePod } from '../sample-pod.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000]
const REQUESTS = 500
const GETS = 2_000
const PAGES = 10
const STARTED = 100
const WATCHES = 1_000
const WATCHES_PER_CONNECTION = 10
/** By then V8 has collected what the requests left. */
const SETTLED_MS = 20_000
const IDLE_MS = 30_000

/** Creates a pod that no scheduler looks at. */
const store = (name: string): Request => {
  const pod = samplePod(name) as { spec: object }
  const body = Buffer.from(JSON.stringify({ ...pod, spec: { ...pod.spec, schedulerName: 'none' } }))
  return { method: 'POST', path: PODS, contentType: 'application/json', body }
}

/** Pages of 500 objects, one after the other. */
const pages: Figure['round'] = async (target, { begin }) => {
  const connection = await Http2Connection.open(target)
  await begin()
  const startedMs = realClock.monotonic()
  let next = ''
  for (let page = 0; page < PAGES; page++) {
    const { beginning } = await connection.request({ method: 'GET', path: `${PODS}?limit=500${next}` })
    const [, token] = /"continue":"([^"]+)"/.exec(beginning) ?? []
    next = token === undefined ? '' : `&continue=${encodeURIComponent(token)}`
  }
  connection.close()
  return { figure: (PAGES / (realClock.monotonic() - startedMs)) * 1000, requests: PAGES }
}

/** In this order: what is created is deleted. Gets and patches go to objects from everywhere. */
const verbs = (objects: number): Record<string, Figure['round']> => {
  const path = (i: number): string => `${PODS}/stored-${(i * 7_919) % objects}`
  const body = (mark: string): Buffer => Buffer.from(JSON.stringify({ metadata: { annotations: { mark } } }))
  const patch = (i: number, mark: string): Request => {
    return { method: 'PATCH', path: path(i), contentType: 'application/merge-patch+json', body: body(`${mark}-${i}`) }
  }
  return {
    'create µs': rate(REQUESTS, (i, mark) => store(`new-${mark}-${i}`)),
    'delete µs': rate(REQUESTS, (i, mark) => ({
      method: 'DELETE',
      path: `${PODS}/new-${mark}-${i}?gracePeriodSeconds=0`,
    })),
    'get µs': rate(GETS, (i) => ({ method: 'GET', path: path(i) })),
    'patch µs': rate(REQUESTS, patch),
    'page of 500 µs': pages,
    'delivery µs': watch(100, 50),
  }
}

type Columns = Record<string, number>
type Measure = (server: Server, objects: number) => Promise<Columns>

export interface GrowthOptions {
  /** The largest number of objects. */
  objects: number
  rounds: number
  /** Starts a server with these flags for as long as `use` takes. */
  withServer<T>(flags: readonly string[], use: (server: Server) => Promise<T>): Promise<T>
}

/** The table: a bare server answers requests, and one with simulated nodes starts pods. */
export async function measureGrowth({ objects, rounds, withServer }: GrowthOptions): Promise<string> {
  const sizes = SIZES.filter((size) => size <= objects)
  const requests = await withServer(bareApi, (server) => grow(server, sizes, requestsAndRest(rounds)))
  const starts = await withServer(['--kubelet=false', '--simulated-nodes', '10'], (server) =>
    grow(server, sizes, async () => ({ 'pod started ms': await startOf(server, rounds) })),
  )
  const rows = sizes.map((size, i) => ({ objects: size, ...requests[i], ...starts[i] }))
  return aligned([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(figure))])
}

/** Fills a server step by step; what a step shows is printed as soon as it is known. */
async function grow(server: Server, sizes: readonly number[], measure: Measure): Promise<Columns[]> {
  await prepare(server.target)
  const rows: Columns[] = []
  for (const [step, size] of sizes.entries()) {
    const from = sizes[step - 1] ?? 0
    const request = (i: number): Request => store(`stored-${from + i}`)
    await load(server.target, { count: size - from, connections: CONNECTIONS, request })
    const row = await measure(server, size)
    process.stderr.write(`${size}: ${JSON.stringify(row)}\n`)
    rows.push(row)
  }
  return rows
}

const requestsAndRest =
  (rounds: number): Measure =>
  async (server, objects) => {
    const row: Columns = {}
    for (const [what, round] of Object.entries(verbs(objects))) row[what] = await cpuOf(server, objects, round, rounds)
    row['idle % of a core'] = await idleWith(server, WATCHES)
    return { ...row, 'RSS MB': server.rssMegabytes() }
  }

/** The median in µs for a request or a delivery; the first round warms up. */
async function cpuOf(server: Server, objects: number, round: Figure['round'], rounds: number): Promise<number> {
  const costs: number[] = []
  for (let i = 0; i <= rounds; i++) costs.push((await turn(server, round, `${objects}-${i}`)).cpuMicroseconds)
  return median(costs.slice(1))
}

/** Of pods of the simulated nodes, from the first create until all run, in ms of each. */
async function startOf(server: Server, rounds: number): Promise<number> {
  const costs: number[] = []
  for (let i = 0; i <= rounds; i++) costs.push((await measurePods(server, STARTED)).cpuMsOfPod)
  return median(costs.slice(1))
}

/** The share of a core, in percent, while so many watches are open and nothing is asked. */
async function idleWith({ target, cpuMs }: Server, watches: number): Promise<number> {
  const connections = await Promise.all(
    Array.from({ length: watches / WATCHES_PER_CONNECTION }, () => Http2Connection.open(target)),
  )
  const path = `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`
  const open = (i: number) => connections[i % connections.length]!.stream(path, () => {})
  await Promise.all(Array.from({ length: watches }, (_, i) => open(i)))
  await realClock.sleep(SETTLED_MS)
  const [before, startedMs] = [cpuMs(), realClock.monotonic()]
  await realClock.sleep(IDLE_MS)
  const percent = ((cpuMs() - before) / (realClock.monotonic() - startedMs)) * 100
  for (const connection of connections) connection.close()
  return percent
}
