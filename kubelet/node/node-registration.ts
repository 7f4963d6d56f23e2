import { isDeepStrictEqual } from 'node:util'
import { isStatus } from '../../shared/api/status-error.ts'
import type { Node } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { nodes } from '../../shared/client/resources.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import type { EventRecorder, ObjectReference } from '../events/event-recorder.ts'
import { type NodeInput, nodeObject, nodeStatus } from './node-status.ts'

/** Registers the node and keeps its status true. */
export interface NodeRegistration {
  /** Resolves when the API has the node. */
  registered: Promise<void>
  /** Write what has changed now, not at the next round. */
  update(): Promise<void>
  close(): void
}
export interface NodeRegistrationOptions {
  client: Client
  clock: Clock
  events: EventRecorder
  /** The node as it is now. */
  facts(): Omit<NodeInput, 'nowMs' | 'previous'>
  onError(error: unknown): void
}

const UPDATE_MS = 10_000
const REPORT_MS = 300_000
const RETRY = { initialMs: 100, maxMs: 7_000 }

export function startNodeRegistration(options: NodeRegistrationOptions): NodeRegistration {
  const { client, clock, events } = options
  const stopping = new AbortController()
  let last: Node | undefined
  let reportedAtMs = 0
  let timer: Timer | undefined

  async function register(): Promise<void> {
    const backoff = createBackoff(RETRY)
    while (!stopping.signal.aborted) {
      try {
        last = await createOrAdopt()
        return
      } catch (error) {
        options.onError(error)
        await clock.machine.sleep(backoff.next(), { signal: stopping.signal }).catch(() => {})
      }
    }
  }

  async function createOrAdopt(): Promise<Node> {
    const object = nodeObject({ ...options.facts(), nowMs: clock.now() })
    try {
      const created = await client.create<Node>(nodes, object)
      reportedAtMs = clock.monotonic()
      tellTransitions(undefined, created)
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
      const booting = hasRebooted(found, object) ? await writeStatus(found, true, [BOOTING]) : found
      await writeStatus(booting, true)
      return patched
    }
  }

  async function writeStatus(previous: Node, always: boolean, problems: string[] = []): Promise<Node> {
    const facts = options.facts()
    const input = { ...facts, problems: [...facts.problems, ...problems], nowMs: clock.now(), previous }
    const status = nodeStatus(input)
    const due = clock.monotonic() - reportedAtMs >= REPORT_MS
    if (!always && !due && isDeepStrictEqual(withoutHeartbeats(status), withoutHeartbeats(previous.status ?? {})))
      return previous
    const ref = { name: previous.metadata.name ?? '' }
    const updated = await client.patch<Node>(nodes, ref, { status }, { type: 'merge', subresource: 'status' })
    reportedAtMs = clock.monotonic()
    tellTransitions(previous, updated)
    last = updated
    return updated
  }

  let lastUpdate: Promise<void> = Promise.resolve()
  /** One after the other, so that no transition is told twice. */
  function update(): Promise<void> {
    lastUpdate = lastUpdate.then(updateNow)
    return lastUpdate
  }

  async function updateNow(): Promise<void> {
    if (!last) return
    try {
      // The controller that marks lost nodes writes there, too.
      const node = await client.get<Node>(nodes, { name: last.metadata.name ?? '' })
      tellSchedulable(last, node)
      last = node
      await writeStatus(node, false)
    } catch (error) {
      options.onError(error)
      // Someone deleted it: a kubelet without a node would do nothing for ever.
      if (isStatus(error, 'NotFound')) await register()
    }
  }

  function schedule(): void {
    if (stopping.signal.aborted) return
    timer = clock.setTimer(UPDATE_MS, () => void update().then(schedule), { background: true })
  }

  function tellTransitions(before: Node | undefined, after: Node): void {
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

  function tellSchedulable(before: Node, { spec, metadata: { name = '' } }: Node): void {
    const unschedulable = spec?.unschedulable ?? false
    if (unschedulable === (before.spec?.unschedulable ?? false)) return
    const what = unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable'
    events.event(nodeReference(name), 'Normal', what, `Node ${name} status is now: ${what}`)
  }

  const registered = register().then(schedule)
  return {
    registered,
    update,
    close() {
      stopping.abort()
      timer?.cancel()
    },
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

/** What a kubelet reports in the first moments after a boot. */
const BOOTING = 'container runtime status check may not have completed yet'

/** Upstream: pkg/kubelet/nodestatus/setters.go. */
function hasRebooted(before: Node, after: Node): boolean {
  const bootId = before.status?.nodeInfo?.bootID
  return Boolean(bootId) && bootId !== after.status?.nodeInfo?.bootID
}

/** A kubelet's events carry the node's name where its UID would stand: it posts them before it knows the UID. */
export const nodeReference = (name: string): ObjectReference => ({ kind: 'Node', apiVersion: 'v1', name, uid: name })

const withoutHeartbeats = (status: NonNullable<Node['status']>): unknown => {
  const { conditions = [], addresses, capacity, allocatable, daemonEndpoints, nodeInfo } = status
  const steady = conditions.map(({ type, status, reason, message }) => ({ type, status, reason, message }))
  return { conditions: steady, addresses, capacity, allocatable, daemonEndpoints, nodeInfo }
}
