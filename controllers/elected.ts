import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { ElectionSettings } from '../shared/config/election-settings.ts'
import type { Log } from '../shared/log/log.ts'
import type { ApiResources, Controller, ControllerContext } from './controller.ts'
import { ElectedLoops } from './leader-election/elected-loops.ts'
import type { Term } from './leader-election/term.ts'
import { startLoopSet } from './loop-set.ts'
import { type ManagerOptions, startManagerLoops } from './manager-loops.ts'
import { startScheduler } from './scheduler/scheduler.ts'

export type { Term } from './leader-election/term.ts'

export interface ElectedOptions extends ManagerOptions {
  /** Reads and writes the Leases and events of the election. */
  client: Client
  clock: Clock
  log: Log
  scheduler: boolean
  /** Sets the election of the control loops. The scheduler has a Lease of its own. */
  election: ElectionSettings
  /** Returns the client that the loops of a term write with. Without it they use `client`. */
  termClient?(term: Term): Client
}

export interface Elected extends Controller {
  /** Returns why the process should be started again; undefined while it works. */
  trouble(): string | undefined
}

const schedulerLease = 'kube-scheduler'

/**
 * Control loops and scheduler, each while this process holds their Lease. Resolves when it leads and they have seen
 * what there is, or when another process leads.
 */
export async function startElected(options: ElectedOptions): Promise<Elected> {
  const { client, clock, log, election, resources, termClient = () => client } = options
  const elect = (component: string, name: string, start: (context: ControllerContext, term: Term) => Controller[]) =>
    new ElectedLoops({
      client,
      clock,
      log,
      component,
      settings: { ...election, name },
      loopsClient: termClient,
      start: (leading, term) =>
        startLoopSet({
          client: leading,
          clock,
          log,
          resources: during(resources, term.signal),
          isGated: true,
          start: (context) => start(context, term),
        }),
    })
  const loops = [
    elect('kube-controller-manager', election.name, (context, { signal }) =>
      startManagerLoops(context, { ...options, resources: during(resources, signal) }),
    ),
    ...(options.scheduler ? [elect('kube-scheduler', schedulerLease, (context) => [startScheduler(context)])] : []),
  ]
  await Promise.all(loops.map((each) => each.settled))
  return {
    trouble: () => loops.map((each) => each.trouble()).find((trouble) => trouble !== undefined),
    async close() {
      await Promise.all(loops.map((each) => each.close()))
    },
  }
}

/** Returns the same resources; their listeners are not called after the signal. */
const during = (resources: ApiResources, signal: AbortSignal): ApiResources => ({
  current: () => resources.current(),
  follow(listener) {
    const leave = resources.follow(listener)
    signal.addEventListener('abort', leave, { once: true })
    return leave
  },
})
