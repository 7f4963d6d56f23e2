import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { KillOptions } from '../ending/pod-state-machine.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { Rejection } from '../pod/rejection.ts'
import { nodeReference } from './node-registration.ts'
import { endPods, type ShutdownGroup } from './shutdown.ts'
import type { Uplink } from './uplink.ts'

/** Inflicts on a kubelet what can happen to its machine, for tests. */
export interface NodeControls {
  /** Ends the pods by their priority, and then the node is off: it reports nothing until it returns. */
  shutDown(): Promise<void>
  /** The node is cut off; its pods run on. */
  lose(): void
  /** Ends either; also a shutdown under way is called off, but for the pods that have ended. */
  comeBack(): Promise<void>
}
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

export function createNodeControls(options: NodeControlsOptions) {
  const { clock, events, uplink } = options
  let goingDown: Promise<void> | undefined

  const tell = (message: string): void =>
    events.event(nodeReference(options.nodeName), 'Normal', 'Shutdown', `Shutdown manager detected shutdown ${message}`)

  async function endAll(): Promise<void> {
    tell('event')
    const told = uplink.isCut ? undefined : options.updateNode()
    await endPods({ clock, groups: options.groups, pods: [...options.pods()], kill: options.kill })
    await Promise.all([told, options.flush()])
  }

  /** Begins in the next microtask, because the node's status depends on `goingDown`. */
  const begin = (): Promise<void> => Promise.resolve().then(endAll)

  const controls: NodeControls = {
    async shutDown() {
      if (uplink.isCut) return
      goingDown ??= begin()
      const thisOne = goingDown
      await thisOne
      await Promise.all([options.flush(LAST_WORDS_MS), events.flush()])
      if (goingDown === thisOne) uplink.cut()
    },
    lose: () => uplink.cut(),
    async comeBack() {
      const called = goingDown && !uplink.isCut
      goingDown = undefined
      if (called) tell('cancellation')
      uplink.mend()
      await options.updateNode()
    },
  }
  return {
    ...controls,
    /** Ends all pods, as the node or the kubelet is about to. */
    async endPods() {
      goingDown ??= begin()
      await goingDown
    },
    /** Says why the node is not ready. */
    problems: (): string[] => (goingDown ? ['node is shutting down'] : []),
    admit: (): Rejection | undefined =>
      goingDown ? { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' } : undefined,
  }
}
