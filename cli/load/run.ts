import type { ClusterAccess, ServerClient } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { createMovableClock } from '../../shared/clock/movable-clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { scaledClock } from '../../shared/clock/scaled-clock.ts'
import { ConfigError, type Values } from '../../shared/config/option.ts'
import type { LossKind } from '../../shared/record/format.ts'
import { askServer } from '../access/ask-server.ts'
import { withClient } from '../access/cluster-client.ts'
import { untilStopped } from '../process/signals.ts'
import { printData, printTable } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import type { Endpoint } from './endpoints.ts'
import { Endpoints } from './follow.ts'
import { isTooMany, type loadOptions } from './options.ts'
import { Pace } from './pace.ts'
import { LoadRecorder } from './recorder.ts'
import { type LoadReport, reportOf, tableOf } from './report.ts'
import { type Sample, send } from './request.ts'
import { lostOf, Tally } from './tally.ts'
import type { TargetName } from './target.ts'
import { addToTerminations, type LostAt } from './terminations.ts'

type Settings = Omit<Values<typeof loadOptions>, 'output'> & {
  output: 'text' | 'json'
  target: TargetName
}

/** Sends the requests and prints what became of them. Resolves to the exit code. */
export async function runLoad(settings: Settings): Promise<number> {
  const stopped = untilStopped()
  return await withClient(settings, async (client, access) => {
    const clock = await clockOf(settings)
    const endpoints = await Endpoints.follow({
      ...{ client, clock, server: access.server, namespace: settings.namespace, target: settings.target },
      ...{ port: settings.port, delayMs: settings.endpointDelay },
    })
    try {
      if (!(await someEndpoint(endpoints, settings, stopped))) return 130
      const load = new LoadRun({ settings, client, access, clock, endpoints })
      const report = await load.run(stopped)
      if (settings.output === 'json') await printData('json', report)
      else printTable(tableOf(report))
      return isTooMany(report.lost, settings.maxLostRequests) ? 1 : 0
    } finally {
      await endpoints.close()
    }
  })
}

/** Returns a clock with the API server's time, which may run faster than the machine's, or may have been moved. */
async function clockOf(settings: Settings): Promise<Clock> {
  const told = await askServer<{ now: string; scale: number }>(settings, { path: '/kubestage/v1/clock' })
  const originMs = realClock.now()
  return createMovableClock(scaledClock(realClock, { scale: told.scale, originMs }), Date.parse(told.now) - originMs)
}

/** Resolves to whether there is a pod to send to; false at Ctrl-C. Throws a ConfigError when none comes in time. */
async function someEndpoint(
  endpoints: Endpoints,
  { target: { kind, name }, readyTimeout }: Settings,
  stopped: Promise<unknown>,
): Promise<boolean> {
  const waiting = new AbortController()
  const stop = (): void => waiting.abort()
  const timer = realClock.setTimer(readyTimeout, stop)
  const what = `a pod of ${kind} ${name}`
  if (endpoints.size === 0) say(`waiting up to ${readyTimeout / 1000} s for ${what}: ${endpoints.whyNone()}`)
  const first = await Promise.race([
    withProgress(`Waiting for ${what}`, endpoints.some(waiting.signal)),
    stopped.then(() => 'stopped' as const),
  ])
  timer.cancel()
  if (first === 'stopped') return false
  if (endpoints.size > 0) return true
  throw new ConfigError(`no pod of ${kind} ${name} within ${readyTimeout / 1000} s: ${endpoints.whyNone()}`)
}

const say = (line: string): void => void process.stderr.write(`kubestage: ${line}\n`)

/** Losses this near to each other are counted as of one time. */
const sameMs = 200

interface Parts {
  settings: Settings
  client: ServerClient
  access: ClusterAccess
  clock: Clock
  endpoints: Endpoints
}

/** Runs one load, from its first request to its report. */
class LoadRun {
  readonly #parts: Parts
  readonly #tally = new Tally()
  readonly #lost = new Map<string, { pod: string; lost: LostAt[] }>()
  readonly #recorder: LoadRecorder
  readonly #headers: Record<string, string>
  #unsent = 0

  constructor(parts: Parts) {
    this.#parts = parts
    const { access, clock, endpoints, settings } = parts
    this.#recorder = new LoadRecorder({ access, clock, pods: () => endpoints.size, say })
    const host = settings.host || endpoints.host
    const headers = settings.header.map((line) => line.split(/:[ \t]*(.*)/s, 2) as [string, string])
    this.#headers = { 'user-agent': 'kubestage-load', ...(host && { host }), ...Object.fromEntries(headers) }
  }

  /** Resolves when the last request is over, and all is recorded; at a second Ctrl-C at once. */
  async run(stopped: Promise<{ again: Promise<void> }>): Promise<LoadReport> {
    const { settings } = this.#parts
    this.#announce()
    const startMs = realClock.monotonic()
    const pace = new Pace({
      clock: realClock,
      betweenMs: 1_000 / settings.rate,
      mostAtOnce: settings.concurrency,
      send: () => this.#send(),
    })
    const time = realClock.sleep(settings.duration)
    await withProgress(() => this.#progress(), Promise.race([time, stopped]))
    const seconds = (realClock.monotonic() - startMs) / 1_000
    const again = stopped.then((first) => first.again)
    await withProgress('Waiting for the last answers', Promise.race([this.#end(pace), again]))
    const { kind, name } = settings.target
    const notSent = pace.skipped + this.#unsent
    const target = `${kind}/${name}`
    return reportOf({ target, namespace: settings.namespace, tally: this.#tally, seconds, notSent })
  }

  async #end(pace: Pace): Promise<void> {
    await pace.stop()
    await this.#recorder.close()
    if (this.#recorder.dropped > 0) say(`${this.#recorder.dropped} lines could not be added to the record`)
    const { client, settings, endpoints } = this.#parts
    const { namespace } = settings
    const written = [...this.#lost].map(([uid, { pod, lost }]) => {
      const isEnding = (): boolean => endpoints.isEnding({ uid, pod })
      return addToTerminations(client, { namespace, uid, lost }, { clock: realClock, isEnding })
    })
    for (const { reason } of (await Promise.allSettled(written)).filter(({ status }) => status === 'rejected') as {
      reason: Error
    }[])
      say(`cannot write lost requests into a Termination: ${reason.message}`)
  }

  async #send(): Promise<void> {
    const { clock, endpoints, settings } = this.#parts
    const { namespace, target } = settings
    const endpoint = endpoints.next()
    const startMs = realClock.monotonic()
    const of = { namespace, ...(target.kind === 'service' && { service: target.name }) }
    if (!endpoint) {
      const nowMs = clock.now()
      const none: Sample = { startMs: nowMs, endMs: nowMs, outcome: 'lost', kind: 'noEndpoint' }
      await this.#recorder.note({ ...of, target: `${target.kind}/${target.name}` }, Promise.resolve(none))
      this.#tally.add({ name: '', uid: '' }, none, 0)
      return
    }
    const { uid, pod } = endpoint
    const request = { url: urlOf(endpoint, settings.path), headers: this.#headers, timeoutMs: settings.timeout }
    const sample = await this.#recorder.note({ ...of, uid, target: `pod/${pod}` }, send(request, clock))
    if (!sample) {
      this.#unsent++
      return
    }
    this.#tally.add({ uid, name: pod }, sample, realClock.monotonic() - startMs)
    if (sample.kind) this.#note({ uid, pod, atMs: sample.startMs, kind: sample.kind })
  }

  #note({ uid, pod, atMs, kind }: { uid: string; pod: string; atMs: number; kind: LossKind }): void {
    const { lost } = this.#lost.get(uid) ?? { lost: [] as LostAt[] }
    this.#lost.set(uid, { pod, lost })
    const last = lost.at(-1)
    if (last?.kind === kind && atMs - last.atMs < sameMs) last.count++
    else lost.push({ atMs, kind, count: 1 })
  }

  #announce(): void {
    const { rate, duration, target } = this.#parts.settings
    const what = `${rate} requests a second to ${this.#pods()} of ${target.kind} ${target.name}`
    process.stderr.write(`Sending ${what} for ${duration / 1_000} s; Ctrl-C ends it earlier.\n`)
  }

  #progress(): string {
    const { sent, answered } = this.#tally.all
    return `${sent} sent, to ${this.#pods()} now; ${lostOf({ sent, answered })} lost`
  }

  #pods(): string {
    const { size } = this.#parts.endpoints
    return `${size} ${size === 1 ? 'pod' : 'pods'}`
  }
}

const urlOf = ({ address, port }: Endpoint, path: string): URL =>
  new URL(`http://${address.includes(':') ? `[${address}]` : address}:${port}${path}`)
