/**
 * How a cluster grows: simulated nodes, then pods step by step until all run, and what each step costs the processes.
 * docs/scale.md has its tables.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { Etcd } from '../compare/etcd-server.ts'
import { Http2Connection, type Target } from '../http2-connection.ts'
import { fanOut, load, transfer } from '../load.ts'
import { CONNECTIONS, create, currentVersion, PODS, patch, prepare } from '../measure.ts'
import type { Server } from '../processes.ts'

const STEPS = 20
const WATCHERS = 100
const WATCHED_WRITES = 50
const IDLE_MS = 20_000

export interface ScaleOptions {
  pods: number
  nodes: number
  /** No step begins after so long; one that is not over by then is cut off. */
  minutes: number
  server: Server
  /** Undefined where objects are in memory. */
  etcd: Etcd | undefined
}

/** CPU time so far, in ms. */
interface Cpu {
  server: number
  etcd: number
}

export interface Step {
  pods: number
  /** From the first create of the step until all of its pods ran. */
  seconds: number
  /** For each pod of the step, in ms. */
  cpuPerPod: Cpu
  /** In MB; the database is etcd's file. */
  rss: Cpu
  database: number
  /** Of all pods in one answer: in MB, and CPU time of the server in ms. */
  list: { megabytes: number; seconds: number; cpuMs: number }
  /** To {@link WATCHERS} clients: CPU time of the server in µs. */
  delivery: { perSecond: number; cpuMicroseconds: number }
}

export interface Scale {
  nodes: number
  /** Until all nodes were Ready. */
  nodesSeconds: number
  /** CPU time per node and second without any work, in µs: leases, and what watches over them. */
  idlePerNode: Cpu
  steps: Step[]
  /** Why it ended before all pods ran. */
  stopped?: string
}

/** Pods of the namespace that have been seen running. */
class Running {
  readonly #connection: Http2Connection
  #count = 0
  #rest = ''

  static async open(target: Target): Promise<Running> {
    const running = new Running(await Http2Connection.open(target))
    const from = `resourceVersion=${await currentVersion(target)}`
    const path = `${PODS}?watch=1&fieldSelector=status.phase%3DRunning&${from}`
    await running.#connection.stream(path, (payload) => running.#take(payload))
    return running
  }

  private constructor(connection: Http2Connection) {
    this.#connection = connection
  }

  #take(payload: Buffer): void {
    const lines = (this.#rest + payload.toString('latin1')).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('{"type":"ADDED"')) this.#count += 1
  }

  async reach(wanted: number, deadlineMs: number): Promise<void> {
    for (; this.#count < wanted; await realClock.sleep(20))
      if (realClock.monotonic() > deadlineMs) throw new Error(`the time was over when ${this.#count} pods ran`)
  }

  close(): void {
    this.#connection.close()
  }
}

export async function measureScale(options: ScaleOptions): Promise<Scale> {
  const { pods, nodes, minutes, server, etcd } = options
  const startedMs = realClock.monotonic()
  const deadlineMs = startedMs + minutes * 60_000
  const { target } = server
  await prepare(target)
  await untilReady(target, nodes, deadlineMs)
  const scale: Scale = { nodes, nodesSeconds: since(startedMs), idlePerNode: await idle(options), steps: [] }
  const running = await Running.open(target)
  try {
    for (let from = 0; from < pods && realClock.monotonic() < deadlineMs; from += pods / STEPS) {
      const step = await grow(options, { running, from, to: from + pods / STEPS, deadlineMs })
      scale.steps.push(step)
      process.stderr.write(`${JSON.stringify(step)}\n`)
    }
    const reached = scale.steps.at(-1)?.pods ?? 0
    if (reached < pods) scale.stopped = `the time was over with ${reached} pods`
  } catch (error) {
    scale.stopped = (error as Error).message
  } finally {
    running.close()
  }
  scale.stopped &&= `${scale.stopped}${etcd ? ', on etcd' : ''}`
  return scale
}

const since = (ms: number): number => (realClock.monotonic() - ms) / 1000

const cpu = ({ server, etcd }: ScaleOptions): Cpu => ({ server: server.cpuMs(), etcd: etcd?.cpuMs() ?? 0 })

async function untilReady(target: Target, nodes: number, deadlineMs: number): Promise<void> {
  const connection = await Http2Connection.open(target)
  for (let ready = -1; ready < nodes; await realClock.sleep(500)) {
    if (realClock.monotonic() > deadlineMs) throw new Error(`of ${nodes} nodes ${ready} are Ready`)
    let text = ''
    const collect = (payload: Buffer): void => {
      text += payload
    }
    await connection.request({ method: 'GET', path: '/api/v1/nodes' }, collect)
    const { items } = JSON.parse(text) as { items: { status?: { conditions?: { type: string; status: string }[] } }[] }
    ready = items.filter(({ status }) =>
      status?.conditions?.some((is) => is.type === 'Ready' && is.status === 'True'),
    ).length
  }
  connection.close()
}

async function idle(options: ScaleOptions): Promise<Cpu> {
  const before = cpu(options)
  const startedMs = realClock.monotonic()
  await realClock.sleep(IDLE_MS)
  const after = cpu(options)
  const share = (side: keyof Cpu) => ((after[side] - before[side]) * 1000) / options.nodes / since(startedMs)
  return { server: share('server'), etcd: share('etcd') }
}

async function grow(
  options: ScaleOptions,
  { running, from, to, deadlineMs }: { running: Running; from: number; to: number; deadlineMs: number },
): Promise<Step> {
  const { server, etcd } = options
  const { target } = server
  const before = cpu(options)
  const startedMs = realClock.monotonic()
  const count = to - from
  await load(target, { count, connections: CONNECTIONS, request: (i) => create(`stored-${from + i}`) })
  await running.reach(to, deadlineMs)
  const seconds = since(startedMs)
  const after = cpu(options)
  const perPod = (side: keyof Cpu) => (after[side] - before[side]) / count
  return {
    pods: to,
    seconds,
    cpuPerPod: { server: perPod('server'), etcd: perPod('etcd') },
    rss: { server: server.rssMegabytes(), etcd: etcd?.rssMegabytes() ?? 0 },
    database: etcd ? statSync(join(etcd.dataFolder, 'member', 'snap', 'db')).size / 1e6 : 0,
    list: await list(server),
    delivery: await deliver(server, to),
  }
}

async function list({ target, cpuMs }: Server): Promise<Step['list']> {
  let before = 0
  const begin = (): void => {
    before = cpuMs()
  }
  const { megabytes, ms } = await transfer(target, PODS, begin)
  return { megabytes, seconds: ms / 1000, cpuMs: cpuMs() - before }
}

async function deliver({ target, cpuMs }: Server, mark: number): Promise<Step['delivery']> {
  let before = 0
  const { deliveriesPerSecond } = await fanOut(target, {
    watchers: WATCHERS,
    count: WATCHED_WRITES,
    watchPath: `${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`,
    write: (i) => patch(i, `${mark}`),
    begin: () => {
      before = cpuMs()
    },
  })
  const deliveries = WATCHERS * WATCHED_WRITES
  return { perSecond: deliveriesPerSecond, cpuMicroseconds: ((cpuMs() - before) * 1000) / deliveries }
}
