import { ignoreNotFound, isStatus, StatusError } from '../../../shared/api/status/status-error.ts'
import type { LostRequests, Termination } from '../../../shared/api/termination.ts'
import type { Pod, PodStatus } from '../../../shared/api/types.ts'
import { workloadOf } from '../../../shared/api/workloads/workload-of.ts'
import type { Client } from '../../../shared/client/client.ts'
import { lacksTerminations } from '../../../shared/client/lacks-terminations.ts'
import { terminations } from '../../../shared/client/resources.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { toMicroTime } from '../../../shared/clock/timestamp.ts'
import type { TerminationFacts } from '../../metrics/kubelet-metrics.ts'
import { goDuration } from '../../pod/go-duration.ts'
import type { ContainerRecord } from '../../runtime/container-runtime.ts'
import type { ContainerKill, End, IdleEnd } from '../kill.ts'
import { BY_ITSELF, type Cause, causeOf } from './cause.ts'
import { type KillJournal, RecordedKill } from './kill-journal.ts'
import { idleVerdict } from './verdict.ts'

/**
 * Records how pods end and containers are killed: one Termination for the containers of a pod that are killed together.
 * No kill waits for its record: records are written later, one after another, and beyond MAX_QUEUE they are dropped.
 */
export interface TerminationRecorder {
  killBegins(kill: ContainerKill): KillJournal
  /** Notes that a pod ends while none of its containers runs. An earlier kill or end of the pod wins. */
  endsIdle(request: IdleEnd): void
  /** Ends the pod's record, when nothing is left to do for the pod. Idempotent. */
  podEnded(podUid: string, end: PodEnd): void
  /** Resolves when all records so far are written or given up. */
  flush(): Promise<void>
}
export interface PodEnd {
  /** The pod's last; undefined while it goes on. */
  status: PodStatus | undefined
  /** True if the pod's object, or a static pod's manifest, is gone. */
  removed?: boolean
}
export interface TerminationRecorderOptions {
  client: Client
  clock: Clock
  nodeName: string
  /** Resolves to the newest records of the pod's containers. */
  containers(podUid: string): Promise<ContainerRecord[]>
  onError(error: unknown, pod: Pod): void
  /** Resolves, a while later, to the connections that Services lost at a pod that has ended; default: none. */
  lostAt?(pod: Pod): Promise<LostRequests[]>
  /** The API server has no terminations, which is Kubestage's own API: records are dropped until it is asked again. */
  onMissing(error: StatusError, againInMs: number): void
  /** Each termination, also one whose record is lost. */
  onRecord?(facts: TerminationFacts): void
}

/** A pod that ends, or some of whose containers are being killed. */
interface Ending {
  request: End
  /** True if no container of the pod runs, but one ran before. */
  hasRun: boolean
  startMs: number
  journals: RecordedKill[]
  running: number
  /** The records when the last container has ended; the pod's cleanup removes them from the runtime. */
  records: Promise<ContainerRecord[]>
}

const MAX_QUEUE = 1_000
const TRIES = 5
const RETRY_MS = 2_000
const ASK_AGAIN_MS = 600_000

/** Writes to the API server. */
export class ApiTerminationRecorder implements TerminationRecorder {
  readonly #options: TerminationRecorderOptions
  readonly #endings = new Map<string, Ending>()
  #waiting = 0
  #missingUntilMs = 0
  #tail: Promise<void> = Promise.resolve()

  constructor(options: TerminationRecorderOptions) {
    this.#options = options
  }

  killBegins(kill: ContainerKill): KillJournal {
    const { clock } = this.#options
    const { record, graceSeconds } = kill
    const state = this.#stateFor(kill)
    state.running++
    const journal: RecordedKill = new RecordedKill(
      { name: record.name, containerId: record.id, graceSeconds },
      { clock, onEnd: () => this.#ended(state, journal) },
    )
    return journal
  }

  endsIdle({ hasRun, ...request }: IdleEnd): void {
    if (this.#endings.has(uidOf(request))) return
    this.#stateFor({ ...request, ends: 'pod' }).hasRun = hasRun
  }

  podEnded(podUid: string, { status, removed }: PodEnd): void {
    const state = this.#endings.get(podUid)
    if (!state || state.running > 0) return
    this.#endings.delete(podUid)
    const cause = causeOf(state.request, status, removed)
    // Containers that end by themselves have no record.
    if (state.journals.length === 0 && cause.cause === BY_ITSELF) return
    const endMs = this.#options.clock.now()
    if (this.#waiting >= MAX_QUEUE) return
    this.#waiting++
    const lost = state.request.ends === 'pod' ? this.#options.lostAt?.(state.request.pod) : undefined
    this.#tail = this.#tail.then(() => this.#record(state, { ...cause, phase: status?.phase, endMs }, lost))
  }

  flush(): Promise<void> {
    return this.#tail
  }

  /** The pod's, with this request where it ends the whole pod. */
  #stateFor(request: End): Ending {
    const uid = uidOf(request)
    const state: Ending = this.#endings.get(uid) ?? {
      request,
      hasRun: false,
      startMs: this.#options.clock.now(),
      journals: [],
      running: 0,
      records: Promise.resolve([]),
    }
    this.#endings.set(uid, state)
    if (request.ends === 'container') return state
    // A request without a known cause keeps the pod's cause.
    const cause = state.request.ends === 'pod' && request.cause === 'Unknown' ? state.request.cause : request.cause
    return Object.assign(state, { request: { ...request, cause } })
  }

  #ended(state: Ending, journal: RecordedKill): void {
    const uid = uidOf(state.request)
    state.journals.push(journal)
    state.running--
    if (state.running > 0) return
    state.records = this.#options.containers(uid).catch(() => [])
    if (state.request.ends === 'container') this.podEnded(uid, { status: undefined })
  }

  /** Never rejects: the records behind this one are written in any case. */
  async #record(state: Ending, end: RecordedEnd, lost?: Promise<LostRequests[]>): Promise<void> {
    const { nodeName, onError, onRecord } = this.#options
    const { pod } = state.request
    try {
      const record = { ...(await termination(state, end)), nodeName }
      onRecord?.(factsOf(record, state.journals))
      await this.#write(pod, record)
      if (lost) void this.#addLosses(record, lost).catch((error) => onError(error, pod))
    } catch (error) {
      onError(error, pod)
    } finally {
      this.#waiting--
    }
  }

  /** The losses come after the record, since Services may still lead to a pod that is gone. */
  async #addLosses({ metadata }: Termination, lost: Promise<LostRequests[]>): Promise<void> {
    const lostRequests = await lost
    const { name = '', namespace } = metadata
    const missing = this.#options.clock.monotonic() < this.#missingUntilMs
    if (missing || lostRequests.length === 0) return
    await this.#options.client.patch(terminations, { namespace, name }, { lostRequests }).catch(ignoreNotFound)
  }

  async #write(pod: Pod, body: Termination): Promise<void> {
    const { client, clock, onError, onMissing } = this.#options
    if (clock.monotonic() < this.#missingUntilMs) return
    for (let tries = 1; ; tries++) {
      try {
        await client.create(terminations, body, { namespace: pod.metadata.namespace, unread: true })
        return
      } catch (error) {
        // Written by an earlier try.
        if (isStatus(error, 'AlreadyExists')) return
        if (lacksTerminations(error)) {
          this.#missingUntilMs = clock.monotonic() + ASK_AGAIN_MS
          return onMissing(error, ASK_AGAIN_MS)
        }
        if (error instanceof StatusError || tries === TRIES) return onError(error, pod)
        await clock.machine.sleep(RETRY_MS)
      }
    }
  }
}

const uidOf = ({ pod }: Pick<End, 'pod'>): string => pod.metadata.uid ?? ''

const factsOf = ({ reason = '', cause = '', verdictType = '' }: Termination, journals: RecordedKill[]) => ({
  reason,
  cause,
  verdictType,
  ...(journals.length > 0 && {
    graceSeconds: Math.max(...journals.map(({ graceSeconds }) => graceSeconds)),
    usedSeconds: Math.max(...journals.map(({ usedMs }) => usedMs)) / 1000,
  }),
})

interface RecordedEnd extends Cause {
  phase?: string
  endMs: number
}

async function termination(state: Ending, { cause, message, phase, endMs }: RecordedEnd): Promise<Termination> {
  const { request, startMs, journals } = state
  const { pod, reason } = request
  const { name = '', namespace, uid, deletionTimestamp } = pod.metadata
  return {
    metadata: { name: `${name.slice(0, 240)}.${Math.floor(startMs).toString(36)}`, namespace },
    podName: name,
    podUID: uid,
    workload: workloadOf(pod),
    reason,
    cause,
    message,
    deletionTimestamp,
    startTime: toMicroTime(startMs),
    endTime: toMicroTime(endMs),
    phase,
    ...(journals.length > 0 ? await stops(state) : idle(state)),
  }
}

function idle({ hasRun }: Ending): Partial<Termination> {
  const { type, text } = idleVerdict(hasRun)
  return { verdictType: type, verdict: text }
}

/** Returns how the containers ended, and a summary of the container that took longest. */
async function stops({ journals, records }: Ending): Promise<Partial<Termination>> {
  const known = new Map((await records).map((record) => [record.id, record]))
  const containers = journals.map((journal) => journal.told(known.get(journal.containerId)))
  const longest = journals.reduce((a, b) => (b.ownMs > a.ownMs ? b : a))
  const told = containers[journals.indexOf(longest)]
  return {
    verdictType: told?.verdictType,
    verdict: journals.length > 1 ? `${told?.name} ${told?.verdict}` : told?.verdict,
    gracePeriodSeconds: Math.max(...journals.map(({ graceSeconds }) => graceSeconds)),
    used: goDuration(Math.round(Math.max(...journals.map(({ usedMs }) => usedMs)))),
    containers,
  }
}
