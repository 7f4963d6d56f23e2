import { realClock } from '../shared/clock/real-clock.ts'
import type { Request } from './http2-connection.ts'
import { Http2Connection, type Target } from './http2-connection.ts'
import { fanOut, load, median, transfer } from './load.ts'
import type { Server } from './processes.ts'
import type { Row } from './report.ts'
import { sampleDeployment, samplePod } from './sample-pod.ts'

/**
 * The server under test and its ceiling: every figure is taken of both, in turns, so that the machine's mood hits both
 * alike.
 */
export interface Pair {
  ours: Server
  bare: Server
  rounds: number
}

export const NAMESPACE = 'bench'
export const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
export const CONNECTIONS = 32
export const STORED = 10_000

/** Of a pod of 3 KB. */
export const create = (name: string, image?: string): Request => ({
  method: 'POST',
  path: PODS,
  contentType: 'application/json',
  body: Buffer.from(JSON.stringify(samplePod(name, image))),
})
export const get = (i: number): Request => ({ method: 'GET', path: `${PODS}/stored-${i % 1_000}` })
export const patch = (i: number, mark: string): Request => ({
  method: 'PATCH',
  path: `${PODS}/stored-${i % 1_000}`,
  contentType: 'application/merge-patch+json',
  body: Buffer.from(JSON.stringify({ metadata: { annotations: { mark: `${mark}-${i}` } } })),
})

export const DEPLOYMENTS = 100
export const apply = (i: number): Request => {
  const name = `applied-${i % DEPLOYMENTS}`
  return {
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}?fieldManager=bench`,
    contentType: 'application/apply-patch+yaml',
    body: Buffer.from(JSON.stringify(sampleDeployment(name))),
  }
}

/** A namespace in which pods can be created. */
export async function prepare(target: Target): Promise<void> {
  const connection = await Http2Connection.open(target)
  const body = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }))
  await connection.request({ method: 'POST', path: '/api/v1/namespaces', contentType: 'application/json', body })
  // A bare API server has nothing that makes one.
  const account = Buffer.from(
    JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }),
  )
  const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`
  await connection
    .request({ method: 'POST', path: accounts, contentType: 'application/json', body: account })
    .catch((error: Error) => {
      if (!error.message.includes('AlreadyExists')) throw error
    })
  for (const deadlineMs = realClock.monotonic() + 5_000; ; await realClock.sleep(5)) {
    try {
      await connection.request({ method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default` })
      break
    } catch (error) {
      if (realClock.monotonic() > deadlineMs) throw error
    }
  }
  connection.close()
}

/** Small objects that have nothing to do with pods. */
export async function fillWithOthers(target: Target, count: number): Promise<void> {
  const other = (i: number): Request => ({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/configmaps`,
    contentType: 'application/json',
    body: Buffer.from(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `other-${i}` },
        data: { number: `${i}` },
      }),
    ),
  })
  await load(target, { count, connections: CONNECTIONS, request: other })
}

/** What the server makes of our pod: defaults, status, managedFields. */
export async function sampleOf(target: Target): Promise<string> {
  const connection = await Http2Connection.open(target)
  let text = ''
  const collect = (payload: Buffer): void => {
    text += payload
  }
  await connection.request(create('sample'))
  await connection.request({ method: 'GET', path: `${PODS}/sample` }, collect)
  await connection.request({ method: 'DELETE', path: `${PODS}/sample?gracePeriodSeconds=0` })
  connection.close()
  return text
}

/** The objects that reads, patches and watches are about. */
export async function fill({ ours, bare }: Pair): Promise<void> {
  for (const { target } of [ours, bare]) {
    await load(target, { count: STORED, connections: CONNECTIONS, request: (i) => create(`stored-${i}`) })
  }
}

export async function measureRequests(pair: Pair): Promise<Row[]> {
  const mark = () => String(realClock.monotonic())
  const rate = (count: number, request: (i: number, round: string) => Request) =>
    inTurns(pair, async ({ target }) => {
      const round = mark()
      return (await load(target, { count, connections: CONNECTIONS, request: (i) => request(i, round) })).perSecond
    })
  const one = await inTurns(pair, async ({ target }) => {
    const round = mark()
    return (await load(target, { count: 500, connections: 1, request: (i) => create(`one-${round}-${i}`) })).p50Ms
  })
  const creates = await rate(3_000, (i, round) => create(`new-${round}-${i}`))
  return [
    { what: 'create, 32 connections', unit: '/s', ...creates, goal: 0.5 },
    { what: 'create, 1 connection, p50', unit: 'ms', ...one, goal: 2, smallerIsBetter: true },
    { what: 'get, 32 connections', unit: '/s', ...(await rate(10_000, get)), goal: 0.65 },
    { what: 'merge patch, 32 connections', unit: '/s', ...(await rate(3_000, patch)), goal: 0.5 },
  ]
}

/** The same configuration again and again, as controllers send it. */
export async function measureApplies({ target }: Server, rounds: number): Promise<Row[]> {
  const applies = (count: number) => load(target, { count, connections: CONNECTIONS, request: apply })
  await applies(DEPLOYMENTS)
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) rates.push((await applies(5_000)).perSecond)
  return [{ what: 'server-side apply, nothing new', unit: '/s', ours: median(rates), limit: 3_000 }]
}

/** So many pods that what a process has besides them does not count. */
export async function measureMemory(server: Server, count: number): Promise<Row[]> {
  await load(server.target, { count, connections: CONNECTIONS, request: (i) => create(`many-${i}`) })
  const what = `RSS with ${count.toLocaleString('en')} pods`
  return [{ what, unit: 'MB', ours: server.rssMegabytes(), limit: 700, smallerIsBetter: true }]
}

export async function measureList(pair: Pair): Promise<Row[]> {
  const ms = await inTurns(pair, async ({ target }) => (await transfer(target, PODS)).ms)
  const rate = await inTurns(pair, async ({ target }) => {
    const { megabytes, ms } = await transfer(target, PODS)
    return (megabytes / ms) * 1000
  })
  return [
    { what: 'list of 10,000', unit: 'ms', ...ms, goal: 2, smallerIsBetter: true },
    { what: 'the same list', unit: 'MB/s', ...rate },
  ]
}

/** One watcher sees as much as is written: no goal of its own. */
const FAN_OUTS = [
  { watchers: 1, count: 2_000 },
  { watchers: 100, count: 300, goal: 0.75 },
  { watchers: 1_000, count: 40, goal: 0.75 },
]

export async function measureWatches(pair: Pair): Promise<Row[]> {
  const rows: Row[] = []
  for (const { watchers, count, goal } of FAN_OUTS) {
    const deliveries = await inTurns(pair, async ({ target }) => {
      const mark = String(realClock.monotonic())
      const watchPath = `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`
      const write = (i: number) => patch(i, mark)
      return (await fanOut(target, { watchers, count, watchPath, write })).deliveriesPerSecond
    })
    rows.push({
      what: `watch, ${watchers === 1 ? '1 watcher' : `${watchers.toLocaleString('en')} watchers`}`,
      unit: 'deliveries/s',
      ...deliveries,
      goal,
    })
  }
  return rows
}

/** The resourceVersion that a watch goes on from. */
export async function currentVersion(target: Target): Promise<string> {
  const connection = await Http2Connection.open(target)
  const { beginning } = await connection.request({ method: 'GET', path: `${PODS}?limit=1` })
  connection.close()
  return /"resourceVersion":"(\d+)"/.exec(beginning)?.[1] ?? '0'
}

/** The first round of each warms it up, and is not counted. */
async function inTurns(
  { ours, bare, rounds }: Pair,
  measure: (server: Server) => Promise<number>,
): Promise<{ ours: number; ceiling: number }> {
  const figures: { ours: number[]; ceiling: number[] } = { ours: [], ceiling: [] }
  for (let round = 0; round <= rounds; round++) {
    figures.ours.push(await measure(ours))
    figures.ceiling.push(await measure(bare))
  }
  return { ours: median(figures.ours.slice(1)), ceiling: median(figures.ceiling.slice(1)) }
}
