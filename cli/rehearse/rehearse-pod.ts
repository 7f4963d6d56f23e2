import { ignoreNotFound, StatusError } from '../../shared/api/status/status-error.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client, ObjectRef } from '../../shared/client/client.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { hasSucceeded, isOver } from './end-by-itself.ts'
import { type Load, startLoad } from './load/load.ts'
import { loadLines } from './load/load-lines.ts'
import { summarize } from './load/load-summary.ts'
import { PodWatch } from './pod-watch.ts'
import type { Finding } from './report.ts'
import type { Stage } from './stage/stage.ts'
import type { Observation } from './verdict/observation.ts'
import { witnessed } from './verdict/witness.ts'
import type { Way } from './ways.ts'
import { loadUrl, POD_HOST, podGraceSeconds, type Workload } from './workload.ts'

export interface PodOptions {
  stage: Stage
  workload: Workload
  way: Way
  /** Counts milliseconds of the machine. */
  readyTimeoutMs: number
  /** Counts milliseconds of the cluster. */
  endpointDelayMs: number
}

/** Thrown if a pod cannot be rehearsed; `finding` says why. */
export class NotRehearsed extends Error {
  readonly finding: Finding
  constructor(finding: Finding) {
    super(finding.says)
    this.finding = finding
  }
}

/** Time for a program to set its handlers after its pod became ready, by the machine's clock. */
const SETTLE_MS = 1_000
/** Time limit for everything else, by the machine's clock. */
const MARGIN_MS = 40_000
/** Time limit for the record, which is written after the pod's last status. */
const RECORD_MS = 6_000
/** Limits how often a pod is created. */
const STARTS = 10
const RETRY_MS = 200
/** Lists fields that choose a node: a rehearsal has one node, with enough of everything. */
const placement = [
  'nodeName',
  'nodeSelector',
  'affinity',
  'topologySpreadConstraints',
  'priorityClassName',
  'runtimeClassName',
  'schedulerName',
] as const

/** A pod of a workload, from its start until there is nothing left of it. */
export class RehearsedPod {
  readonly ref: Required<ObjectRef>
  readonly #options: PodOptions
  #watch: PodWatch | undefined
  #load: Load | undefined

  constructor(options: PodOptions) {
    const { workload, way } = options
    this.#options = options
    const stem = workload.name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 40)
    const name = `${stem.replace(/^-|-$/g, '') || 'main'}-${way.name}${workload.isOrdinal ? '-0' : ''}`
    this.ref = { namespace: workload.namespace, name }
  }

  /** Resolves when it is ready to die, and load is on it. Throws {@link NotRehearsed}. */
  async start(): Promise<void> {
    const { stage, workload, way, readyTimeoutMs } = this.#options
    const pod = podOf(workload, this.ref, stage.clock.scale)
    way.prepare?.(pod, stage)
    const last = await this.#untilReady(pod)
    if (!last || !isReady(last)) throw new NotRehearsed(whyNotReady(last, readyTimeoutMs))
    await this.#startLoad(last)
    await stage.clock.machine.sleep(SETTLE_MS)
    const settled = this.#watch?.last
    if (settled && isOver(settled)) throw new NotRehearsed(whyNotReady(settled, readyTimeoutMs))
    if (settled && (!isReady(settled) || restartsOf(settled) > restartsOf(last)))
      throw new NotRehearsed(notForLong(settled))
  }

  /** Resolves to what was seen of its end, when it has died; to nothing when `cancelled` comes first. */
  async observe(cancelled: AbortSignal): Promise<Observation> {
    const { stage, way, workload, endpointDelayMs } = this.#options
    const { clock } = stage
    const watch = this.#watch
    const uid = watch?.last?.metadata.uid
    const own = podGraceSeconds(workload)
    const probes = workload.template.spec.containers.map((c) => c.livenessProbe?.terminationGracePeriodSeconds ?? 0)
    const graceSeconds = Math.max(way.graceSeconds?.(own) ?? own, ...probes)
    const waiting = new AbortController()
    const patienceMs = (graceSeconds * 1000) / clock.scale + MARGIN_MS
    const patience = clock.machine.setTimer(patienceMs, () => waiting.abort())
    const gone = watch?.until(() => false, patienceMs)
    // A pod that is gone, and no record of it: the kubelet was killed before it had written one.
    void gone?.then(() => clock.machine.setTimer(RECORD_MS, () => waiting.abort(), { background: true }))
    const termination = await recordOf(stage.client, this.ref, {
      uid,
      signal: AbortSignal.any([waiting.signal, cancelled]),
    })
    patience.cancel()
    const stopBeganMs = termination?.startTime ? parseTime(termination.startTime) : clock.now()
    if (this.#load) await clock.sleep(Math.max(0, stopBeganMs + endpointDelayMs - clock.now()))
    const samples = await this.#load?.stop()
    const untilMs = stopBeganMs + endpointDelayMs
    const loads =
      samples && loadLines(samples, { target: `pod/${this.ref.name}`, namespace: this.ref.namespace, untilMs })
    if (loads) await stage.addToRecord(loads)
    if (way.judges?.includes('leaves-children')) await gone
    const comesBack = way.restarts && watch?.last?.spec.restartPolicy === 'Always' ? await this.#comesBack() : undefined
    return {
      termination,
      pod: watch?.last,
      children: watch?.last && witnessed(watch.last),
      comesBack,
      load: samples && summarize(samples, { stopBeganMs, endpointDelayMs }),
      loads,
    }
  }

  /** Resolves to whether the pod is ready again after a restart, and stays so. */
  async #comesBack(): Promise<boolean> {
    const { stage, readyTimeoutMs } = this.#options
    const isBack = (pod: Pod): boolean => isReady(pod) && restartsOf(pod) > 0
    if (!(await this.#watch?.until(isBack, readyTimeoutMs))) return false
    const restarts = this.#watch?.last && restartsOf(this.#watch.last)
    await stage.clock.machine.sleep(SETTLE_MS)
    const { last } = this.#watch ?? {}
    return last !== undefined && isReady(last) && restartsOf(last) === restarts
  }

  /** Leaves nothing; also of one that never started. */
  async clear(): Promise<void> {
    await this.#load?.stop()
    await this.#delete()
    this.#watch?.close()
  }

  async #delete(): Promise<void> {
    await this.#options.stage.client.delete(pods, this.ref, { gracePeriodSeconds: 0 }).catch(ignoreNotFound)
  }

  /** Resolves to the pod's state. A pod that still saw a taint that has just gone is created again. */
  async #untilReady(pod: Pod): Promise<Pod | undefined> {
    const { stage, readyTimeoutMs } = this.#options
    for (let tries = 1; ; tries++) {
      await this.#create(pod)
      const watch = new PodWatch(stage.client, this.ref, stage.clock.machine)
      this.#watch?.close()
      this.#watch = watch
      const isSettled = (pod: Pod): boolean => isReady(pod) && !pod.metadata.deletionTimestamp
      await watch.until((pod) => isSettled(pod) || isOver(pod) || lacksImage(pod) !== undefined, readyTimeoutMs)
      const isTainted = watch.isGone || watch.last?.status?.reason === 'TaintToleration'
      if (!isTainted || tries === STARTS) return watch.last
      await this.#delete()
      await watch.until(() => false, readyTimeoutMs)
      await stage.clock.machine.sleep(RETRY_MS)
    }
  }

  /** The namespace's service account may be a moment behind it. */
  async #create(pod: Pod): Promise<void> {
    const { client, clock } = this.#options.stage
    for (const deadlineMs = clock.machine.monotonic() + RECORD_MS; ; ) {
      try {
        await client.create(pods, pod, { namespace: this.ref.namespace })
        return
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        const isEarly = /service account .*default.* not found|error looking up service account/.test(error.message)
        if (isEarly && clock.machine.monotonic() < deadlineMs) {
          await clock.machine.sleep(50)
          continue
        }
        throw new NotRehearsed(refusal(error, this.#options.way))
      }
    }
  }

  async #startLoad({ status }: Pod): Promise<void> {
    const { stage, workload } = this.#options
    if (!workload.load) return
    const url = loadUrl(workload.load)
    if (url.hostname === POD_HOST) url.hostname = status?.podIP ?? ''
    this.#load = startLoad({ url, clock: stage.clock })
    try {
      await this.#load.answered
    } catch (error) {
      throw new NotRehearsed({ fault: 'not-started', severity: 'bad', says: (error as Error).message })
    }
  }
}

/**
 * As its workload wants it, but that it finds a place here, and that only we let it die: a program's start is no faster
 * where time is.
 */
function podOf({ template }: Workload, ref: Required<ObjectRef>, scale: number): Pod {
  const { metadata, spec } = structuredClone(template)
  for (const key of placement) delete spec[key]
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const { livenessProbe, startupProbe } = container
    if (livenessProbe) livenessProbe.failureThreshold = NEVER
    if (startupProbe) startupProbe.failureThreshold = Math.ceil((startupProbe.failureThreshold ?? 3) * scale)
    delete container.resources
  }
  return { metadata: { ...metadata, ...ref }, spec }
}
/** Times that a probe may fail. */
const NEVER = 1_000_000

/** Resolves to the kubelet's record of the pod's end, or to nothing when the signal comes first. */
async function recordOf(
  client: Client,
  { namespace, name }: Required<ObjectRef>,
  { uid, signal }: { uid?: string; signal: AbortSignal },
): Promise<Termination | undefined> {
  const ending = new AbortController()
  const fieldSelector = `podName=${name}`
  try {
    const both = AbortSignal.any([signal, ending.signal])
    for await (const { object } of client.watch<Termination>(terminations, { namespace, fieldSelector, signal: both }))
      if (object.podUID === uid) return object
    return undefined
  } finally {
    ending.abort()
  }
}

/** A pod that this way needs otherwise may be refused for that; another way tells what holds for it as it is. */
const refusal = ({ message }: StatusError, { prepare, judges }: Way): Finding =>
  prepare && judges
    ? { fault: 'cannot-be-done', severity: 'note', says: `the API refuses a pod for it: ${message}` }
    : { fault: 'refused', severity: 'bad', says: `the API refuses it: ${message}` }

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
const restartsOf = ({ status }: Pod): number =>
  (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0)

/** A pod that ends by itself cannot be rehearsed. */
function notForLong(pod: Pod): Finding {
  const why = lastEnd(pod)
  return { fault: 'not-started', severity: 'bad', says: `is ready, but not for long${why ? `: ${why}` : ''}` }
}

const lastEnd = ({ status }: Pod): string | undefined => {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const ended = containers.flatMap(({ state, lastState }) => state?.terminated ?? lastState?.terminated ?? [])[0]
  return ended && `its container exits ${ended.exitCode}`
}

/** The kubelet's message for an unknown image, which is final: no image is added while a rehearsal runs. */
const lacksImage = ({ status }: Pod): string | undefined =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .map(({ state }) => state?.waiting)
    .find((waiting) => ['ErrImagePull', 'ImagePullBackOff', 'ErrImageNeverPull'].includes(waiting?.reason ?? ''))
    ?.message

function whyNotReady(pod: Pod | undefined, timeoutMs: number): Finding {
  const image = pod && lacksImage(pod)
  if (image) return { fault: 'unknown-image', severity: 'bad', says: image }
  if (pod && hasSucceeded(pod))
    return { fault: 'ends-by-itself', severity: 'note', says: 'ends by itself: nothing to rehearse' }
  const containers = [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])]
  const waiting = containers.find(({ state }) => state?.waiting?.message)?.state?.waiting
  const why = pod?.status?.message ?? waiting?.message ?? (pod && lastEnd(pod)) ?? unscheduled(pod)
  return {
    fault: 'not-started',
    severity: 'bad',
    says: `is not ready within ${timeoutMs / 1000} s${why ? `: ${why}` : ''}`,
  }
}

const unscheduled = (pod: Pod | undefined): string | undefined =>
  pod?.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message
