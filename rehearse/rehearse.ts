import { randomBytes } from 'node:crypto'
import type { Cluster } from '../library/cluster.ts'
import { isStatus } from '../shared/api/status-error.ts'
import type { Termination } from '../shared/api/termination.ts'
import type { Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { pods, terminations } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { countRequests } from './count-requests.ts'
import { type Facts, judge, type Verdict } from './judge.ts'
import { answers, Load, type LoadOptions } from './load.ts'
import { type Finding, staticFindings } from './static-checks.ts'
import type { Stage, Way } from './ways.ts'
import type { Workload } from './workload.ts'

export interface RehearsalOptions {
  cluster: Cluster
  /** Over the network. */
  client: Client
  nodeName: string
  ways: readonly Way[]
  /** The machine's. */
  clock: Clock
  scale: number
  /** Of the machine. */
  readyTimeoutMs: number
  /** How long clients need to learn that an endpoint is gone, in the cluster's time. */
  endpointDelayMs: number
  /** Told before each way. */
  onProgress?(title: string): void
}

/** What came of one way to die. */
export interface WayResult {
  way: string
  title: string
  /** What the hooks were told. */
  reason?: string
  /** Of the container that took longest. */
  used?: string
  gracePeriodSeconds?: number
  exitCodes: (number | undefined)[]
  requests?: { sent: number; lost: number }
  verdicts: Verdict[]
}
export interface Rehearsal {
  workload: string
  findings: Finding[]
  results: WayResult[]
  good: boolean
}

const namespace = 'default'
/** What comes on top of the grace. */
const marginMs = 15_000
/** A container that is too slow is tried once more with so much more time, to learn what it needs. */
const generous = { factor: 3, leastSeconds: 20 }
/** So long a container that has come back has to stay, on the machine. */
const settleMs = 1_000

/** Lets a workload die in each way, one after the other. */
export async function rehearse(workload: Workload, options: RehearsalOptions): Promise<Rehearsal> {
  const { client, ways, onProgress } = options
  for (const { resource, object } of workload.others) {
    await client
      .create(resource, object, { namespace: object.metadata.namespace ?? namespace })
      .catch((error: unknown) => {
        if (!isStatus(error, 'AlreadyExists')) throw error
      })
  }
  const findings = staticFindings(workload.pod.spec)
  const needs = new Needs(workload, options)
  const results: WayResult[] = []
  for (const way of ways) {
    onProgress?.(`${workload.title}: ${way.title}`)
    results.push(await tryWay(workload, way, options, needs))
  }
  const good = findings.length === 0 && results.every(({ verdicts }) => verdicts.every((verdict) => verdict.good))
  return { workload: workload.title, findings, results, good }
}

async function tryWay(workload: Workload, way: Way, options: RehearsalOptions, needs: Needs): Promise<WayResult> {
  const facts = await play(workload, way, options)
  const tooSlow = facts.termination?.containers?.some(
    ({ steps }) => steps.some(({ name }) => name === 'SIGKILL') && steps.some(({ outcome }) => outcome === 'Caught'),
  )
  if (tooSlow && !way.forced) facts.neededMs = await needs.measure(way)
  const containers = facts.termination?.containers ?? []
  return {
    way: way.name,
    title: way.title,
    reason: facts.termination?.reason,
    used: facts.termination?.used,
    gracePeriodSeconds: facts.termination?.gracePeriodSeconds,
    exitCodes: containers.map(({ exitCode }) => exitCode),
    requests: facts.requests,
    verdicts: judge(facts),
  }
}

/** How long a workload takes that is not given enough; measured once. */
class Needs {
  readonly #workload: Workload
  readonly #options: RehearsalOptions
  #measured: Promise<number | undefined> | undefined

  constructor(workload: Workload, options: RehearsalOptions) {
    this.#workload = workload
    this.#options = options
  }

  /** Milliseconds of the machine; undefined when also a generous grace is not enough. */
  measure(way: Way): Promise<number | undefined> {
    this.#measured ??= this.#measure(way)
    return this.#measured
  }

  async #measure(way: Way): Promise<number | undefined> {
    const { metadata, spec } = this.#workload.pod
    const seconds = Math.max(generous.leastSeconds, generous.factor * (spec.terminationGracePeriodSeconds ?? 30))
    // What a program needs does not get less when time runs faster.
    const terminationGracePeriodSeconds = Math.ceil(seconds * Math.min(this.#options.scale, 4))
    const pod = { metadata, spec: { ...spec, terminationGracePeriodSeconds } }
    const { termination } = await play({ ...this.#workload, pod }, way, this.#options)
    const isKilled = termination?.containers?.some(({ steps }) => steps.some(({ name }) => name === 'SIGKILL')) ?? true
    if (isKilled || termination?.startTime === undefined || termination.endTime === undefined) return undefined
    return (Date.parse(termination.endTime) - Date.parse(termination.startTime)) / this.#options.scale
  }
}

/** From a new pod to the end of it. */
async function play(workload: Workload, way: Way, options: RehearsalOptions): Promise<Facts> {
  const { cluster, client, nodeName, clock, scale, readyTimeoutMs, endpointDelayMs } = options
  const name = `${workload.name}-${randomBytes(3).toString('hex')}`
  const pod = { namespace, name }
  const spec = structuredClone(workload.pod.spec)
  const timeoutMs = ((spec.terminationGracePeriodSeconds ?? 30) * 1000) / scale + marginMs
  const stage: Stage = { cluster, client, pod, nodeName, timeoutMs }
  await using wellness = await way.prepare?.(spec, scale)
  try {
    const { generateName: _, ...metadata } = workload.pod.metadata ?? {}
    await client.create<Pod>(pods, { metadata: { ...metadata, name, namespace }, spec } as Pod, { namespace })
    const ready = await cluster.waitFor<Pod>(pods, pod, isReady, { timeout: readyTimeoutMs }).catch(() => undefined)
    if (!ready) return { failure: await whyNotReady(client, pod, readyTimeoutMs) }
    const nowMs = () => cluster.clock.now()
    const load = way.forced ? undefined : await beginLoad(workload, ready, { clock, nowMs, learntMs: endpointDelayMs })
    await way.die(stage, wellness ?? undefined)
    const failure = await untilEnd(stage, way, ready, timeoutMs)
    const samples = await load?.end()
    const termination = way.forced ? undefined : await recordOf(cluster, ready, failure ? 1_000 : timeoutMs)
    const requests = samples && termination && countRequests(samples, termination, { scale, learntMs: endpointDelayMs })
    const untold = termination && way.reason !== undefined && termination.reason !== way.reason
    const wrongReason = untold
      ? `its hooks are told ${termination.reason ?? 'no reason'} instead of ${way.reason}`
      : undefined
    return { termination, forced: way.forced, requests, failure: failure ?? wrongReason }
  } finally {
    await client.delete(pods, pod, { gracePeriodSeconds: 0 }).catch(() => {})
    await cluster.waitForDeleted(pods, pod).catch(() => {})
    await way.after?.(stage)
  }
}

async function beginLoad(
  { load }: Workload,
  { status }: Pod,
  options: Omit<LoadOptions, 'url'>,
): Promise<Load | undefined> {
  if (!load) return undefined
  const url = load.replace(/^(http:\/\/):/, `$1${status?.podIP ?? ''}:`)
  if (!(await answers(url))) throw new Error(`${url} does not answer, though the pod is ready`)
  const generator = new Load({ url, ...options })
  generator.begin()
  return generator
}

/** Resolves to what did not happen. */
async function untilEnd(
  { cluster, pod }: Stage,
  way: Way,
  before: Pod,
  timeoutMs: number,
): Promise<string | undefined> {
  const options = { timeout: timeoutMs }
  const restarts = restartsOf(before)
  try {
    if (way.end === 'gone') await cluster.waitForDeleted(pods, pod, options)
    else if (way.end === 'failed') {
      await cluster.waitFor<Pod>(pods, pod, ({ status }) => /^(Failed|Succeeded)$/.test(status?.phase ?? ''), options)
    } else {
      await cluster.waitFor<Pod>(pods, pod, (now) => restartsOf(now) > restarts && isReady(now), options)
      // Having come back is not enough: it has to stay.
      const isDown = (now: Pod): boolean =>
        restartsOf(now) > restarts + 1 || (now.status?.containerStatuses ?? []).some(({ state }) => !state?.running)
      const again = await cluster.waitFor<Pod>(pods, pod, isDown, { timeout: settleMs }).catch(() => undefined)
      if (again) return `does not come back after a restart: ${stateOf(again)}`
    }
    return undefined
  } catch {
    if (way.end !== 'restarted') return `is not over ${Math.round(timeoutMs / 1000)} s later`
    const now = await cluster.client.get<Pod>(pods, pod).catch(() => undefined)
    return `does not come back after a restart${now ? `: ${stateOf(now)}` : ''}`
  }
}

const restartsOf = ({ status }: Pod): number =>
  (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0)

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false

/** Written behind the pod's last status. */
function recordOf(cluster: Cluster, { metadata }: Pod, timeoutMs: number): Promise<Termination | undefined> {
  const isOurs = ({ podUID }: Termination): boolean => podUID === metadata.uid
  return cluster
    .waitFor<Termination>(terminations, { namespace }, isOurs, { timeout: timeoutMs })
    .catch(() => undefined)
}

async function whyNotReady(client: Client, pod: Stage['pod'], timeoutMs: number): Promise<string> {
  const now = await client.get<Pod>(pods, pod)
  return `is not ready after ${Math.round(timeoutMs / 1000)} s: ${stateOf(now)}`
}

function stateOf({ status }: Pod): string {
  const states = (status?.containerStatuses ?? []).map(({ name, state, lastState, ready }) => {
    const { waiting, terminated } = state ?? {}
    const last = terminated ?? lastState?.terminated
    const why = waiting?.reason ?? (ready ? 'ready' : terminated ? 'ended' : 'running, but not ready')
    return `${name} ${why}${last ? `, last exit code ${last.exitCode}` : ''}`
  })
  return (
    states.join('; ') ||
    (status?.conditions?.find(({ status }) => status === 'False')?.message ?? 'it has not been started')
  )
}
