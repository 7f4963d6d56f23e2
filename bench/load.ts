import { realClock } from '../shared/clock/real-clock.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import { Http2Connection, type Request, type Target } from './http2-connection.ts'

export interface Rate {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Is called when all connections are open: what they cost is no part of the figure. Requests begin when it is done. */
export type Begin = () => void | Promise<void>

/** For `count` loads at once: `begin` is called when the connections of all of them are open. */
export function together(count: number, begin: Begin = () => {}): Begin {
  const all = Promise.withResolvers<void>()
  let opened = 0
  return async () => {
    opened += 1
    if (opened === count) all.resolve(begin())
    await all.promise
  }
}

/**
 * `connections` workers, each with its own connection and one request at a time, until `count` requests are answered.
 */
export async function load(
  target: Target,
  options: {
    count: number
    connections: number
    request(i: number): Request
    begin?: Begin
    /** After each answer: the same connection's next request waits for it. */
    answered?(): Promise<void>
  },
): Promise<Rate> {
  const { count, request } = options
  const connections = await openAll(target, options.connections)
  const latencies: number[] = []
  let next = 0
  async function worker(connection: Http2Connection): Promise<void> {
    while (next < count) {
      const one = request(next++)
      const sentMs = realClock.monotonic()
      await connection.request(one)
      latencies.push(realClock.monotonic() - sentMs)
      await options.answered?.()
    }
  }
  await options.begin?.()
  const startedMs = realClock.monotonic()
  await Promise.all(connections.map(worker))
  const elapsedMs = realClock.monotonic() - startedMs
  for (const connection of connections) connection.close()
  latencies.sort((a, b) => a - b)
  return {
    perSecond: (count / elapsedMs) * 1000,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  }
}

export interface FanOut {
  deliveriesPerSecond: number
  writesPerSecond: number
}

const WATCHERS_PER_CONNECTION = 10
const SEEN_MS = 60_000

/**
 * `watchers` open streams, spread over `target` and `others`; then `count` writes, spread alike, each of which every
 * watcher must see as a line. `oneByOne`: all of them see a change before the next one is sent. Else those that come
 * together leave together, and a slower server has fewer writes for as many deliveries.
 */
export async function fanOut(
  target: Target,
  options: {
    watchers: number
    count: number
    watchPath: string
    write(i: number): Request
    begin?: Begin
    others?: readonly Target[]
    oneByOne?: boolean
  },
): Promise<FanOut> {
  const { watchers, count, watchPath, write, begin, others = [], oneByOne = false } = options
  const targets = [target, ...others]
  const needed = Math.ceil(watchers / WATCHERS_PER_CONNECTION)
  const connections = await Promise.all(
    Array.from({ length: needed }, (_, i) => Http2Connection.open(targets[i % targets.length]!)),
  )
  const wanted = watchers * count
  let delivered = 0
  let ended = 0
  /** Resolves when all watchers have seen the change that was sent last, and at the end. */
  let seen = Promise.withResolvers<void>()
  const onData = (payload: Buffer): void => {
    for (let at = payload.indexOf(10); at !== -1; at = payload.indexOf(10, at + 1)) {
      delivered += 1
      if (delivered === wanted || (oneByOne && delivered % watchers === 0)) seen.resolve()
    }
  }
  const allSeen = async (): Promise<void> => {
    if (!(await withinLimit(seen.promise, SEEN_MS, realClock))) {
      const watches = `the server ended ${ended} of ${watchers} watches`
      throw new Error(`${delivered} of ${wanted} deliveries within ${SEEN_MS / 1000} s of a write; ${watches}`)
    }
    seen = Promise.withResolvers()
  }
  const opened = Array.from({ length: watchers }, (_, i) =>
    connections[Math.floor(i / WATCHERS_PER_CONNECTION)]!.stream(watchPath, onData, () => {
      ended += 1
    }),
  )
  await Promise.all(opened)
  const startedMs = realClock.monotonic()
  const beginTogether = together(targets.length, begin)
  const written = await Promise.all(
    targets.map((each, at) => {
      const share = Math.floor((count + at) / targets.length)
      const request = (i: number): Request => write(i * targets.length + at)
      const inTurn = oneByOne ? { connections: 1, answered: allSeen } : { connections: 32 / targets.length }
      return load(each, { count: share, request, begin: beginTogether, ...inTurn })
    }),
  )
  if (!oneByOne) await allSeen()
  const elapsedMs = realClock.monotonic() - startedMs
  for (const connection of connections) connection.close()
  const writesPerSecond = written.reduce((sum, { perSecond }) => sum + perSecond, 0)
  return { deliveriesPerSecond: (wanted / elapsedMs) * 1000, writesPerSecond }
}

export interface Transfer {
  ms: number
  megabytes: number
}

export async function transfer(target: Target, path: string, begin?: Begin): Promise<Transfer> {
  const connection = await Http2Connection.open(target)
  begin?.()
  const startedMs = realClock.monotonic()
  const { bytes } = await connection.request({ method: 'GET', path })
  const ms = realClock.monotonic() - startedMs
  connection.close()
  return { ms, megabytes: bytes / 1e6 }
}

const openAll = (target: Target, count: number): Promise<Http2Connection[]> =>
  Promise.all(Array.from({ length: count }, () => Http2Connection.open(target)))

export const quantile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
