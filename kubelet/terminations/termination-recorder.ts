import { isStatus, StatusError } from '../../shared/api/status-error.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { terminations } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toMicroTime } from '../../shared/clock/timestamp.ts'
import type { TerminationFacts } from '../metrics/kubelet-metrics.ts'
import { goDuration } from '../pod/go-duration.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { causeOf } from './cause.ts'
import { type ContainerStop, StopJournal } from './container-stop.ts'
import type { StopRequest } from './stop-request.ts'
import { workloadOf } from './workload.ts'

/**
 * Writes down how containers are stopped: one Termination for those of a pod that are stopped together.
 * No stop waits for it: records are written behind, one after another, and too many at a time are dropped.
 */
export interface TerminationRecorder {
  stopping(request: StopRequest): ContainerStop
  /** Nothing of the pod is left to be done. `status`: its last. */
  podEnded(podUid: string, status: PodStatus | undefined): void
  /** Resolves when all records so far are written or given up. */
  flush(): Promise<void>
}
export interface TerminationRecorderOptions {
  client: Client
  clock: Clock
  nodeName: string
  /** The newest records of the pod's containers. */
  containers(podUid: string): Promise<ContainerRecord[]>
  onError(error: unknown, pod: Pod): void
  /** The API server has no terminations, which is Kubestage's own API: records are dropped until it is asked again. */
  onMissing(error: StatusError, againInMs: number): void
  /** Each termination, also one whose record is lost. */
  onRecord?(facts: TerminationFacts): void
}

/** A pod some of whose containers are being stopped. */
interface Stopping {
  request: StopRequest
  startMs: number
  journals: StopJournal[]
  running: number
  podEnds: boolean
  /** As they are when the last has ended; the pod's cleanup forgets them. */
  records: Promise<ContainerRecord[]>
}

const MAX_QUEUE = 1_000
const TRIES = 5
const RETRY_MS = 2_000
const ASK_AGAIN_MS = 600_000

export function createTerminationRecorder(options: TerminationRecorderOptions): TerminationRecorder {
  const { client, clock } = options
  const stoppings = new Map<string, Stopping>()
  let waiting = 0
  let missingUntilMs = 0
  let tail: Promise<void> = Promise.resolve()

  function stopping(request: StopRequest): ContainerStop {
    const uid = request.pod.metadata.uid ?? ''
    const known = stoppings.get(uid)
    const state: Stopping = known ?? {
      request,
      startMs: clock.now(),
      journals: [],
      running: 0,
      podEnds: false,
      records: Promise.resolve([]),
    }
    stoppings.set(uid, state)
    if (request.podEnds) Object.assign(state, { podEnds: true, request })
    state.running++
    const { record, graceSeconds } = request
    const journal: StopJournal = new StopJournal(
      { name: record.name, containerId: record.id, graceSeconds },
      { clock, onEnd: () => ended(uid, state, journal) },
    )
    return journal
  }

  function ended(uid: string, state: Stopping, journal: StopJournal): void {
    state.journals.push(journal)
    state.running--
    if (state.running > 0) return
    state.records = options.containers(uid).catch(() => [])
    if (!state.podEnds) finish(uid, undefined)
  }

  function finish(uid: string, status: PodStatus | undefined): void {
    const state = stoppings.get(uid)
    if (!state || state.running > 0) return
    stoppings.delete(uid)
    const endMs = clock.now()
    if (waiting >= MAX_QUEUE) return
    waiting++
    tail = tail.then(async () => {
      const record = await termination(state, { status, endMs, nodeName: options.nodeName })
      options.onRecord?.(factsOf(record, state.journals))
      await write(state, record)
      waiting--
    })
  }

  async function write({ request: { pod } }: Stopping, body: Termination): Promise<void> {
    if (clock.monotonic() < missingUntilMs) return
    for (let tries = 1; ; tries++) {
      try {
        await client.create(terminations, body, { namespace: pod.metadata.namespace, unread: true })
        return
      } catch (error) {
        // Written by an earlier try.
        if (isStatus(error, 'AlreadyExists')) return
        if (isMissing(error)) {
          missingUntilMs = clock.monotonic() + ASK_AGAIN_MS
          return options.onMissing(error, ASK_AGAIN_MS)
        }
        if (error instanceof StatusError || tries === TRIES) return options.onError(error, pod)
        await clock.machine.sleep(RETRY_MS)
      }
    }
  }

  return { stopping, podEnded: finish, flush: () => tail }
}

/** Where RBAC asks first, an API that does not exist is a forbidden one. A namespace that is missing has a name. */
function isMissing(error: unknown): error is StatusError {
  if (!(error instanceof StatusError)) return false
  if (error.code === 404) return !error.status.details?.name
  return error.code === 403 && error.message.includes('cannot create resource "terminations"')
}

const factsOf = ({ reason = '', cause = '', verdictType = '' }: Termination, journals: StopJournal[]) => ({
  reason,
  cause,
  verdictType,
  graceSeconds: Math.max(...journals.map(({ graceSeconds }) => graceSeconds)),
  usedSeconds: Math.max(...journals.map(({ usedMs }) => usedMs)) / 1000,
})

async function termination(
  { request, startMs, journals, records }: Stopping,
  { status, endMs, nodeName }: { status: PodStatus | undefined; endMs: number; nodeName: string },
): Promise<Termination> {
  const { pod, reason } = request
  const { name = '', namespace, uid, deletionTimestamp } = pod.metadata
  const known = new Map((await records).map((record) => [record.id, record]))
  const containers = journals.map((journal) => journal.told(known.get(journal.containerId)?.exitCode))
  const longest = journals.reduce((a, b) => (b.ownMs > a.ownMs ? b : a))
  const told = containers[journals.indexOf(longest)]
  return {
    metadata: { name: `${name.slice(0, 240)}.${Math.floor(startMs).toString(36)}`, namespace },
    podName: name,
    podUID: uid,
    nodeName,
    workload: workloadOf(pod),
    verdictType: told?.verdictType,
    verdict: journals.length > 1 ? `${told?.name} ${told?.verdict}` : told?.verdict,
    reason,
    ...causeOf(request, status),
    deletionTimestamp,
    gracePeriodSeconds: Math.max(...journals.map(({ graceSeconds }) => graceSeconds)),
    used: goDuration(Math.round(Math.max(...journals.map(({ usedMs }) => usedMs)))),
    startTime: toMicroTime(startMs),
    endTime: toMicroTime(endMs),
    phase: status?.phase,
    containers,
  }
}
