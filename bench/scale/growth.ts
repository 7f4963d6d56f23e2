/**
 * What requests and the start of a pod cost a server that holds ever more objects, and what it costs when nobody asks.
 * docs/scale.md has its table.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Figure, rate, turn, watch } from '../compare/versus.ts'
import { Http2Connection, type Request, type Target } from '../http2-connection.ts'
import { heapMegabytes } from '../inspected-heap.ts'
import { load, median } from '../load.ts'
import { currentVersion, PODS, prepare } from '../measure.ts'
import { measurePods } from '../pods.ts'
import { bareApi, type Server } from '../processes.ts'
import { aligned, figure } from '../report.ts'
import { samplePod } from '../sample-pod.ts'
import { fill } from './stored-pods.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000]
const REQUESTS = 500
const GETS = 2_000
const PAGES = 10
const STARTED = 100
const WATCHES = 1_000
const WATCHES_PER_CONNECTION = 10
/** By then V8 has collected what the requests left. */
const SETTLED_MS = 20_000
const IDLE_MS = 60_000

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
/** Starts a server with these flags for as long as `use` takes, with V8's inspector at the port. */
type WithServer = <T>(
  flags: readonly string[],
  use: (server: Server, stateDir: string, inspectPort: number) => Promise<T>,
) => Promise<T>

export interface GrowthOptions {
  objects: number
  rounds: number
  withServer: WithServer
}

/** The table: for each size, a bare server answers requests, and one with simulated nodes starts pods. */
export async function measureGrowth({ objects, rounds, withServer }: GrowthOptions): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const file = join(folder, 'objects.db')
  const storage = ['--storage', `sqlite:${file}`]
  try {
    await withServer([...bareApi, ...storage], ({ target }) => prepareFirst(target))
    const rows: string[][] = []
    const sizes = SIZES.filter((size) => size <= objects)
    for (const [step, size] of sizes.entries()) {
      fill(file, sizes[step - 1] ?? 1, size)
      const row: Columns = {
        objects: size,
        ...(await withServer([...bareApi, ...storage], requestsAndRest(size, rounds))),
        ...(await withServer(['--kubelet=false', '--simulated-nodes', '10', ...storage], async (server) => ({
          'pod started ms': await startOf(server, rounds),
        }))),
      }
      if (step === 0) rows.push(Object.keys(row))
      rows.push(Object.values(row).map(figure))
      process.stderr.write(`${aligned(rows)}\n`)
    }
    return aligned(rows)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function prepareFirst(target: Target): Promise<void> {
  await prepare(target)
  await load(target, { count: 1, connections: 1, request: (i) => store(`stored-${i}`) })
}

const requestsAndRest =
  (objects: number, rounds: number) =>
  async (server: Server, _: string, inspectPort: number): Promise<Columns> => {
    const row: Columns = { 'start CPU s': server.cpuMs() / 1000 }
    for (const [what, round] of Object.entries(verbs(objects))) row[what] = await cpuOf(server, objects, round, rounds)
    row['RSS MB'] = server.rssMegabytes()
    row['heap MB'] = await heapMegabytes(inspectPort)
    row['idle % of a core'] = await idleWith(server, WATCHES)
    return row
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
