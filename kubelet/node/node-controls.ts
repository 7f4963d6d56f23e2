import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { KillOptions } from '../ending/pod-state-machine.ts'
import { type EventRecorder, nodeReference } from '../events/event-recorder.ts'
import type { Rejection } from '../pod/rejection.ts'
import { endPods, type ShutdownGroup } from './shutdown.ts'
import type { Uplink } from './uplink.ts'

export interface NodeControlsOptions {
  clock: Clock
  events: EventRecorder
  nodeName: string
  uplink: Uplink
  groups: readonly ShutdownGroup[]
  pods(): Iterable<Pod>
  kill(pod: Pod, options: KillOptions): Promise<void>
  /** Writes the node's status now. */
  updateNode(): Promise<void>
  /** Resolves when what there is to say of the pods is written, or the time for it is over; by default it is short. */
  flush(limitMs?: number): Promise<void>
}

/** Limits how long statuses and records of all pods are written before the node is cut off. */
const LAST_WORDS_MS = 10_000

/** Inflicts on a kubelet what can happen to its machine, for tests. */
export class NodeControls {
  readonly #options: NodeControlsOptions
  #goingDown: Promise<void> | undefined

  constructor(options: NodeControlsOptions) {
    this.#options = options
  }

  /** Ends the pods by their priority, and then the node is off: it reports nothing until it returns. */
  async shutDown(): Promise<void> {
    const { events, flush, uplink } = this.#options
    if (uplink.isCut) return
    const thisOne = this.endPods()
    await thisOne
    await Promise.all([flush(LAST_WORDS_MS), events.flush()])
    if (this.#goingDown === thisOne) uplink.cut()
  }

  /** The node is cut off; its pods run on. */
  lose(): void {
    this.#options.uplink.cut()
  }

  /** Ends either; also a shutdown under way is called off, but for the pods that have ended. */
  async comeBack(): Promise<void> {
    const { uplink, updateNode } = this.#options
    const called = this.#goingDown && !uplink.isCut
    this.#goingDown = undefined
    if (called) this.#tell('cancellation')
    uplink.mend()
    await updateNode()
  }

  /** Ends all pods, as the node or the kubelet is about to. Begins in the next microtask: the status says so first. */
  endPods(): Promise<void> {
    this.#goingDown ??= Promise.resolve().then(() => this.#endAll())
    return this.#goingDown
  }

  /** Says why the node is not ready. */
  problems(): string[] {
    return this.#goingDown ? ['node is shutting down'] : []
  }

  admit(): Rejection | undefined {
    if (!this.#goingDown) return undefined
    return { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' }
  }

  async #endAll(): Promise<void> {
    const { clock, flush, groups, kill, pods, updateNode, uplink } = this.#options
    this.#tell('event')
    const told = uplink.isCut ? undefined : updateNode()
    await endPods({ clock, groups, pods: [...pods()], kill })
    await Promise.all([told, flush()])
  }

  #tell(message: string): void {
    const { events, nodeName } = this.#options
    events.event(nodeReference(nodeName), 'Normal', 'Shutdown', `Shutdown manager detected shutdown ${message}`)
  }
}
