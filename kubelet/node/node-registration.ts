import { isDeepStrictEqual } from 'node:util'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import type { EventRecorder, ObjectReference } from '../events/event-recorder.ts'
import { type NodeInput, nodeObject, nodeStatus } from './node-status.ts'

export interface NodeRegistrationOptions {
  client: Client
  clock: Clock
  events: EventRecorder
  /** The node as it is now. */
  facts(): Omit<NodeInput, 'nowMs' | 'previous'>
  /** Looks at what of the facts takes time, before an update. */
  refresh?(): Promise<void>
  onError(error: unknown): void
}

const UPDATE_MS = 10_000
const REPORT_MS = 300_000
const RETRY = { initialMs: 100, maxMs: 7_000 }

/** Registers the node and keeps its status true. */
export class NodeRegistration {
  /** Resolves when the API has the node. */
  readonly registered: Promise<void>
  readonly #options: NodeRegistrationOptions
  readonly #stopping = new AbortController()
  #last: Node | undefined
  #reportedAtMs = 0
  #timer: Timer | undefined
  #lastUpdate: Promise<void> = Promise.resolve()

  constructor(options: NodeRegistrationOptions) {
    this.#options = options
    this.registered = this.#register().then(() => this.#schedule())
  }

  /** Writes what has changed now, not at the next round; one write after the other, so that no event comes twice. */
  update(): Promise<void> {
    this.#lastUpdate = this.#lastUpdate.then(() => this.#updateNow())
    return this.#lastUpdate
  }

  close(): void {
    this.#stopping.abort()
    this.#timer?.cancel()
  }

  async #register(): Promise<void> {
    const backoff = createBackoff(RETRY)
    while (!this.#stopping.signal.aborted) {
      try {
        this.#last = await this.#createOrAdopt()
        return
      } catch (error) {
        this.#options.onError(error)
        await this.#options.clock.machine.sleep(backoff.next(), { signal: this.#stopping.signal }).catch(() => {})
      }
    }
  }

  async #createOrAdopt(): Promise<Node> {
    const { client, clock, facts } = this.#options
    const object = nodeObject({ ...facts(), nowMs: clock.now() })
    try {
      const created = await client.create<Node>(nodes, object)
      this.#reportedAtMs = clock.monotonic()
      this.#tellTransitions(undefined, created)
      return created
    } catch (error) {
      if (!isStatus(error, 'AlreadyExists')) throw error
      const found = await client.get<Node>(nodes, { name: object.metadata.name ?? '' })
      const { labels, annotations } = object.metadata
      const patched = await client.patch<Node>(
        nodes,
        { name: object.metadata.name ?? '' },
        { metadata: { labels, annotations } },
        { type: 'merge' },
      )
      const booting = hasRebooted(found, object) ? await this.#writeStatus(found, true, [BOOTING]) : found
      await this.#writeStatus(booting, true)
      return patched
    }
  }

  async #writeStatus(previous: Node, always: boolean, problems: string[] = []): Promise<Node> {
    const { client, clock } = this.#options
    const facts = this.#options.facts()
    const input = { ...facts, problems: [...facts.problems, ...problems], nowMs: clock.now(), previous }
    const status = nodeStatus(input)
    // A merge patch removes what is null.
    const gone = facts.images && previous.status?.images && !status.images ? { images: null } : {}
    const due = clock.monotonic() - this.#reportedAtMs >= REPORT_MS
    if (!always && !due && isDeepStrictEqual(withoutHeartbeats(status), withoutHeartbeats(previous.status ?? {})))
      return previous
    const ref = { name: previous.metadata.name ?? '' }
    const updated = await client.patch<Node>(
      nodes,
      ref,
      { status: { ...status, ...gone } },
      { type: 'merge', subresource: 'status' },
    )
    this.#reportedAtMs = clock.monotonic()
    this.#tellTransitions(previous, updated)
    this.#last = updated
    return updated
  }

  async #updateNow(): Promise<void> {
    if (!this.#last) return
    const { client, onError, refresh } = this.#options
    try {
      if (refresh) await refresh().catch(onError)
      // The controller that marks lost nodes writes there, too.
      const node = await client.get<Node>(nodes, { name: this.#last.metadata.name ?? '' })
      this.#tellSchedulable(this.#last, node)
      this.#last = node
      await this.#writeStatus(node, false)
    } catch (error) {
      onError(error)
      // Someone deleted it: a kubelet without a node would do nothing for ever.
      if (isStatus(error, 'NotFound')) await this.#register()
    }
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return
    const again = () => void this.update().then(() => this.#schedule())
    this.#timer = this.#options.clock.setTimer(UPDATE_MS, again, { background: true })
  }

  #tellTransitions(before: Node | undefined, after: Node): void {
    const { events } = this.#options
    if (before && hasRebooted(before, after)) {
      const { metadata, status } = after
      const message = `Node ${metadata.name} has been rebooted, boot id: ${status?.nodeInfo?.bootID}`
      events.event(nodeReference(metadata.name ?? ''), 'Warning', 'Rebooted', message)
    }
    for (const { type, status } of after.status?.conditions ?? []) {
      const old = before?.status?.conditions?.find((condition) => condition.type === type)
      // A node's first Ready has no event: only its change has.
      if (old?.status === status || (type === 'Ready' && !old)) continue
      const name = TRANSITIONS[`${type}=${status}`]
      if (!name) continue
      const nodeName = after.metadata.name ?? ''
      events.event(nodeReference(nodeName), 'Normal', name, `Node ${nodeName} status is now: ${name}`)
    }
  }

  #tellSchedulable(before: Node, { spec, metadata: { name = '' } }: Node): void {
    const unschedulable = spec?.unschedulable ?? false
    if (unschedulable === (before.spec?.unschedulable ?? false)) return
    const what = unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable'
    this.#options.events.event(nodeReference(name), 'Normal', what, `Node ${name} status is now: ${what}`)
  }
}

const TRANSITIONS: Record<string, string> = {
  'MemoryPressure=False': 'NodeHasSufficientMemory',
  'MemoryPressure=True': 'NodeHasInsufficientMemory',
  'DiskPressure=False': 'NodeHasNoDiskPressure',
  'DiskPressure=True': 'NodeHasDiskPressure',
  'PIDPressure=False': 'NodeHasSufficientPID',
  'PIDPressure=True': 'NodeHasInsufficientPID',
  'Ready=True': 'NodeReady',
  'Ready=False': 'NodeNotReady',
}

/** A kubelet reports this in the first moments after a boot. */
const BOOTING = 'container runtime status check may not have completed yet'

/** Upstream: pkg/kubelet/nodestatus/setters.go. */
function hasRebooted(before: Node, after: Node): boolean {
  const bootId = before.status?.nodeInfo?.bootID
  return Boolean(bootId) && bootId !== after.status?.nodeInfo?.bootID
}

/** A kubelet's events carry the node's name where its UID would stand: it posts them before it knows the UID. */
export const nodeReference = (name: string): ObjectReference => ({ kind: 'Node', apiVersion: 'v1', name, uid: name })

const withoutHeartbeats = (status: NonNullable<Node['status']>): unknown => {
  const { conditions = [], addresses, capacity, allocatable, daemonEndpoints, nodeInfo, images } = status
  const steady = conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message }))
  return { conditions: steady, addresses, capacity, allocatable, daemonEndpoints, nodeInfo, images }
}
