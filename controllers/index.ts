import type { Client } from '../shared/client/client.ts'
import { storageClasses } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { ElectionSettings } from '../shared/config/election-settings.ts'
import type { Log } from '../shared/log/log.ts'
import type { KeyPair } from '../shared/pki/certificate.ts'
import type { Controller, ControllerContext } from './controller.ts'
import type { Term } from './elected.ts'
import { startLoopSet } from './loop-set.ts'
import { type ManagerOptions, startManagerLoops } from './manager-loops.ts'
import { startScheduler } from './scheduler/scheduler.ts'
import { prepareCluster, type ServerFacts, startServerLoops } from './server-loops.ts'
import { ensure } from './server-objects/bootstrap.ts'
import { standardClass } from './volumes/provisioning.ts'

export type { Log } from '../shared/log/log.ts'
export type { ApiResource, ApiResources } from './controller.ts'

export interface ControllersOptions
  extends ManagerOptions,
    Pick<
      ServerFacts,
      'serverUrl' | 'keepsServerUrl' | 'securePort' | 'kubernetesServiceIP' | 'host' | 'isShared' | 'requestHeaderCa'
    > {
  client: Client
  clock: Clock
  log: Log
  scheduler: boolean
  /** Signs certificate requests with its key. */
  ca: KeyPair
  /** Holds the CA that is published to namespaces; by default the certificate of `ca`. */
  rootCa?: string
  /** CA of the client certificates that the server accepts, in PEM; by default the certificate of `ca`. */
  clientCa?: string
  /** Loops but those of the server itself run only while this process leads. Absent: they always run. */
  election?: ElectionSettings
  /** Returns the client that the loops of a term write with. Without it they use `client`. */
  termClient?(term: Term): Client
}

/** Starts all control loops; resolves when the system namespaces exist and every loop has seen what there is. */
export async function startControllers(options: ControllersOptions): Promise<Controller> {
  const { client, clock, election, resources, rootCa = options.ca.cert, clientCa = options.ca.cert } = options
  const facts = { ...options, rootCa, clientCa }
  await prepareCluster(client, facts, clock.now())
  if (options.volumeFolders) await ensure(client, storageClasses, standardClass)
  const startOthers = (context: ControllerContext): Controller[] => [
    ...startManagerLoops(context, { ...options, rootCa }),
    ...(options.scheduler ? [startScheduler(context)] : []),
  ]
  const own = startLoopSet({
    ...options,
    start: (context) => [...startServerLoops(context, facts), ...(election ? [] : startOthers(context))],
  })
  await own.synced()
  if (!election) return own
  const { startElected } = await import('./elected.ts')
  const elected = await startElected({ ...options, resources, rootCa, election })
  return {
    async close() {
      await elected.close()
      await own.close()
    },
  }
}
