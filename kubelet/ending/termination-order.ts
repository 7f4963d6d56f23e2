import type { PodSpec } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import { sidecars } from '../pod/container-kinds.ts'

/** The order in which containers of a pod with sidecars stop: after the app containers, the last sidecar first. */
export interface TerminationOrder {
  /** Resolves when it is the container's turn, or when `limitMs` have passed. */
  turn(container: string, limitMs: number): Promise<void>
  ended(container: string): void
}

/** `running`: the containers that still ran when the pod's termination began. */
export function createTerminationOrder(spec: PodSpec, running: string[], clock: Clock): TerminationOrder {
  const ends = new Map(running.map((name) => [name, Promise.withResolvers<void>()]))
  const endOf = (name: string): Promise<void> | undefined => ends.get(name)?.promise
  const order = sidecars(spec).map(({ name }) => name)
  return {
    async turn(container, limitMs) {
      const position = order.indexOf(container)
      if (position < 0) return
      const before = [...spec.containers.map(({ name }) => name), ...order.slice(position + 1, position + 2)]
      await withinLimit(Promise.all(before.map(endOf)), limitMs, clock)
    },
    ended: (container) => ends.get(container)?.resolve(),
  }
}
