import type { ApiResources, Controller, ControllerContext } from './controller.ts'
import { createInformers, type InformersOptions } from './informers/informers.ts'

export type { Controller, ControllerContext } from './controller.ts'
export { createEventRecorder, type EventRecorder } from './event-recorder.ts'

export interface LoopSetOptions extends InformersOptions {
  /** All kinds that are served. A kind that goes is watched no longer. */
  resources?: ApiResources
  /** Loops begin when all that they read was listed. Default: each when its first list is there. */
  isGated?: boolean
  /** Starts the loops; each begins at once. */
  start(context: ControllerContext): Controller[]
}

/** Loops that share their informers. */
export interface LoopSet extends Controller {
  /** Resolves when every loop has seen what there is; rejects when the set is closed before. */
  synced(): Promise<void>
}

export function startLoopSet({ client, clock, log, resources, isGated = false, start }: LoopSetOptions): LoopSet {
  const informers = createInformers({ client, clock, log, isGated })
  const leave = resources?.follow({ onAdd: () => undefined, onRemove: (resource) => informers.drop(resource) })
  const controllers = start({ client, informers, clock, log })
  const begun = isGated ? informers.begin() : Promise.resolve()
  begun.catch(() => {})
  return {
    async synced() {
      await Promise.all([begun, informers.synced()])
    },
    async close() {
      leave?.()
      await Promise.all(controllers.map((controller) => controller.close()))
      await informers.close()
    },
  }
}
