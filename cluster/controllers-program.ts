import { resolve } from 'node:path'
import type { Controller, ControllerContext } from '../controllers/controller.ts'
import { DiscoveredResources } from '../controllers/discovered-resources.ts'
import type { Term } from '../controllers/elected.ts'
import { startElected } from '../controllers/elected.ts'
import { startLoopSet } from '../controllers/loop-set.ts'
import { startManagerLoops } from '../controllers/manager-loops.ts'
import { startScheduler } from '../controllers/scheduler/scheduler.ts'
import { leaderHeader, leaderText } from '../shared/api/leader.ts'
import type { Client } from '../shared/client/client.ts'
import {
  type ClusterAccess,
  createRestClient,
  type RestClientOptions,
  type ServerClient,
} from '../shared/client/rest-client.ts'
import { severalServers } from '../shared/client/several-servers.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import type { ElectionFlags } from '../shared/config/election-options.ts'
import { electionOf } from '../shared/config/election-settings.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { LoopFlags } from '../shared/config/loop-options.ts'
import { type Check, healthOf } from '../shared/http/health-checks.ts'
import { startHealthServer } from '../shared/http/health-server.ts'
import type { Log } from '../shared/log/log.ts'
import { awaitServer } from './await-server.ts'
import { checkTypes } from './check-types.ts'
import { explainListening } from './explain-listening.ts'
import { loopSettings } from './loop-settings.ts'
import { pem, type SigningFiles, signingCa } from './signing-ca.ts'
import { foldersIn } from './volume-folders.ts'

export interface ControllersProgramOptions extends Partial<ElectionFlags>, LoopFlags, SigningFiles {
  access: ClusterAccess
  /** URLs of servers that are asked in turn. Empty: the one of `access`. */
  servers: readonly string[]
  controllers: readonly string[]
  scheduler: boolean
  featureGates: FeatureGates
  clusterCidr: string
  /** A PEM file; empty: the CA of `access`. */
  rootCaFile: string
  volumesDir: string
  /** Sets the port on 127.0.0.1 for a supervisor; 0 for none. */
  healthzPort: number
  clock: Clock
  log: Log
}

const userAgent = 'kube-controller-manager/v1.36.3'
const leastTimeoutMs = 1_000

/** An API server answers as many lists to one client at a time. */
const maxRequests = 10

/** Control loops and scheduler beside an API server, with a leader election or without. */
export async function startControllersProgram(options: ControllersProgramOptions): Promise<Controller> {
  const { clock, log } = options
  await using starting = new Undo()
  const election = options.leaderElect === false ? undefined : electionOf(options)
  let trouble: Check = () => undefined
  const server = await healthServer(options, () => trouble())
  starting.defer(() => server?.close())
  const client = clientOf(options)
  starting.defer(() => client.close())
  const resources = new DiscoveredResources({ client, clock, log })
  starting.defer(() => resources.close())
  const place = options.servers.join(', ') || options.access.server
  await awaitServer({ client, resources }, { place, clock, log })
  const ca = signingCa(options, options.access.ca)
  if (!ca) log.info({ certDir: options.certDir }, 'no key of the cluster CA: certificate requests are not signed')
  const parts = {
    clock,
    log,
    resources,
    scheduler: options.scheduler,
    chosen: options.controllers,
    paths: {
      get: (path: string) => client.document(path),
      put: (path: string, object: object) => client.put(path, object),
    },
    ...loopSettings(options),
    ca,
    rootCa: options.rootCaFile ? pem('--root-ca-file', options.rootCaFile) : options.access.ca,
    checkTypes,
    volumeFolders: foldersIn(resolve(options.volumesDir)),
  }
  if (election) {
    const leases = clientOf(options, { requestTimeoutMs: Math.max(election.renewDeadlineMs / 2, leastTimeoutMs) })
    starting.defer(() => leases.close())
    const termClient = (term: Term): Client => {
      const own = clientOf(options, { headers: { [leaderHeader]: leaderText(term.leader) } })
      // What is under way on its connections ends with the term.
      term.signal.addEventListener('abort', () => void own.close(), { once: true })
      return own
    }
    const elected = await startElected({ ...parts, client: leases, election, termClient })
    starting.defer(() => elected.close())
    trouble = elected.trouble
  } else {
    const start = (context: ControllerContext): Controller[] => [
      ...startManagerLoops(context, parts),
      ...(options.scheduler ? [startScheduler(context)] : []),
    ]
    const loops = startLoopSet({ client, clock, log, resources, isGated: true, start })
    starting.defer(() => loops.close())
    await loops.synced()
  }
  const running = starting.move()
  return { close: () => running.run() }
}

async function healthServer({ healthzPort: port, clock }: ControllersProgramOptions, leaderElection: Check) {
  if (port === 0) return undefined
  const checks = { ping: () => undefined, leaderElection }
  const flags = { host: '--healthz-port', port: '--healthz-port' }
  return startHealthServer(port, clock, (target) => healthOf(checks, target)).catch(
    explainListening({ host: '127.0.0.1', port, flags, isOptional: true }),
  )
}

function clientOf(
  { access, servers, clock }: ControllersProgramOptions,
  more: Pick<RestClientOptions, 'requestTimeoutMs' | 'headers'> = {},
): ServerClient {
  const urls = servers.length > 0 ? servers : [access.server]
  return severalServers(
    urls.map((server) => createRestClient({ ...access, server, clock, userAgent, http2: true, maxRequests, ...more })),
  )
}
