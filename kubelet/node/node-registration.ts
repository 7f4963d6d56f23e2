import { isDeepStrictEqual } from 'node:util'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Node } from '../../shared/api/types.ts'
import { type Informer, startInformer } from '../../shared/client/informer.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Timer } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import { nodeReference } from '../events/event-recorder.ts'
import type { KubeletBase } from '../kubelet-base.ts'
import { startLease } from './lease.ts'
import { type NodeInput, nodeObject, nodeStatus } from './node-status.ts'

export type NodeFacts = Omit<NodeInput, 'nowMs' | 'previous'>

interface NodeRegistrationOptions {
  base: KubeletBase
  facts(): NodeFacts
  /** Runs for each version of the object that the API has. */
  onSeen(node: Node, isNew: boolean): void
}

const UPDATE_MS = 10_000
const REPORT_MS = 300_000
const RETRY = { initialMs: 100, maxMs: 7_000 }

/** Registers the node, keeps its status true, renews its Lease, and watches the object that the API has of it. */
export class NodeRegistration {
  /** Resolves when the API has the node. */
  readonly registered: Promise<void>
  readonly #base: KubeletBase
  readonly #facts: () => NodeFacts
  readonly #source: Informer<Node>
  readonly #stopLease: () => void
  readonly #stopping = new AbortController()
  #last: Node | undefined
  #reportedAtMs = 0
  #timer: Timer | undefined
  #lastUpdate: Promise<void> = Promise.resolve()

  constructor({ base, facts, onSeen }: NodeRegistrationOptions) {
    const { client, clock, nodeName, warn } = base
    this.#base = base
    this.#facts = facts
    this.registered = this.#register().then(() => this.#schedule())
    this.#source = startInformer<Node>({
      client,
      clock,
      resource: nodes,
      selection: { fieldSelector: `metadata.name=${nodeName}` },
      onError: (error) => warn(error, 'the node could not be watched'),
      handlers: [{ onAdd: (node) => onSeen(node, true), onUpdate: (node) => onSeen(node, false) }],
    })
    this.#stopLease = startLease({ ...base, onError: (error) => warn(error, 'the lease could not be renewed') })
  }

  /** Returns the node as the API has it; undefined until it is registered and seen. */
  seen(): Node | undefined {
    return this.#source.get({ name: this.#base.nodeName })
  }

  /** Returns the node as the API has it, or as it is being registered. */
  object(): Node {
    return this.seen() ?? nodeObject({ ...this.#facts(), nowMs: this.#base.clock.now() })
  }

  /** Writes what has changed now, not at the next round; one write after the other, so that no event comes twice. */
  update(): Promise<void> {
    this.#lastUpdate = this.#lastUpdate.then(() => this.#updateNow())
    return this.#lastUpdate
  }

  async close(): Promise<void> {
    this.#stopLease()
    this.#stopping.abort()
    this.#timer?.cancel()
    await this.#source.close()
  }

  #failed(error: unknown): void {
    this.#base.warn(error, 'the node could not be registered or updated')
  }

  async #register(): Promise<void> {
    const backoff = createBackoff(RETRY)
    while (!this.#stopping.signal.aborted) {
      try {
        this.#last = await this.#createOrAdopt()
        return
      } catch (error) {
        this.#failed(error)
        await this.#base.clock.machine.sleep(backoff.next(), { signal: this.#stopping.signal }).catch(() => {})
      }
    }
  }

  async #createOrAdopt(): Promise<Node> {
    const { client, clock } = this.#base
    const object = nodeObject({ ...this.#facts(), nowMs: clock.now() })
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
    const { client, clock } = this.#base
    const facts = this.#facts()
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
    const { client, images, seenImages } = this.#base
    try {
      if (images) await seenImages.list().catch((error) => this.#failed(error))
      // The controller that marks lost nodes writes there, too.
      const node = await client.get<Node>(nodes, { name: this.#last.metadata.name ?? '' })
      this.#tellSchedulable(this.#last, node)
      this.#last = node
      await this.#writeStatus(node, false)
    } catch (error) {
      this.#failed(error)
      // Someone deleted it: a kubelet without a node would do nothing for ever.
      if (isStatus(error, 'NotFound')) await this.#register()
    }
  }

  #schedule(): void {
    if (this.#stopping.signal.aborted) return
    const again = () => void this.update().then(() => this.#schedule())
    this.#timer = this.#base.clock.setTimer(UPDATE_MS, again, { background: true })
  }

  #tellTransitions(before: Node | undefined, after: Node): void {
    const { events } = this.#base
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
    this.#base.events.event(nodeReference(name), 'Normal', what, `Node ${name} status is now: ${what}`)
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

const withoutHeartbeats = (status: NonNullable<Node['status']>): unknown => {
  const { conditions = [], addresses, capacity, allocatable, daemonEndpoints, nodeInfo, images } = status
  const steady = conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message }))
  return { conditions: steady, addresses, capacity, allocatable, daemonEndpoints, nodeInfo, images }
}
