import type { User } from '../apiserver/kind/user.ts'
import type { ApiServer } from '../apiserver/server.ts'
import type { Storage } from '../apiserver/storage/storage.ts'
import type { Controller } from '../controllers/controller.ts'
import { bootstrap } from '../controllers/server-objects/bootstrap.ts'
import type { ElectionSettings } from '../shared/config/election-settings.ts'
import { firstAddress, urlOf } from './addresses.ts'
import { checkTypes } from './check-types.ts'
import type { ControlPlaneOptions } from './control-plane-options.ts'
import { injectedPaths } from './injected-paths.ts'
import { loopSettings } from './loop-settings.ts'
import { foldersIn } from './volume-folders.ts'

const user: User = { name: 'system:kube-controller-manager', groups: ['system:masters', 'system:authenticated'] }

/**
 * Starts the control loops in the process of their API server, of which they know nothing but a client. If the options
 * ask for no loops, only makes the first objects of a cluster.
 */
export async function startLoops(
  options: ControlPlaneOptions,
  { server, storage, election }: { server: ApiServer; storage: Storage; election: ElectionSettings | undefined },
): Promise<Controller> {
  const { host, pki, clock, log, controllers: chosen } = options
  const client = server.client(user, { exact: true })
  const facts = {
    host,
    securePort: server.port,
    kubernetesServiceIP: firstAddress(options.serviceCidr),
    requestHeaderCa: pki.frontProxyCa.cert,
  }
  if (chosen === false) {
    const { kubernetesServiceIP: clusterIP, ...others } = facts
    await bootstrap(client, { ...others, clusterIP, clientCa: pki.ca.cert, nowMs: clock.now() })
    return { close: async () => {} }
  }
  const { startControllers } = await import('../controllers/index.ts')
  return startControllers({
    ...facts,
    client,
    clock,
    log,
    resources: server.resources,
    scheduler: options.scheduler,
    chosen,
    election,
    termClient: ({ leader }) => server.client(user, { exact: true, leader }),
    paths: injectedPaths((request) => server.inject(user, request)),
    ...loopSettings(options),
    ca: pki.ca,
    serverUrl: options.controlPlaneEndpoint || options.joinUrl || urlOf(host, server.port),
    keepsServerUrl: !options.controlPlaneEndpoint && server.otherServers() > 0,
    isShared: storage.catchUp !== undefined,
    checkTypes,
    volumeFolders: options.volumesDir === undefined ? undefined : foldersIn(options.volumesDir),
  })
}

/**
 * Returns undefined for loops that always run. By default only servers on etcd elect a leader. Rejects with a
 * UsageError for durations that do not fit together.
 */
export async function electionFor(options: ControlPlaneOptions): Promise<ElectionSettings | undefined> {
  const { leaderElect = options.storage?.engine === 'etcd', controllers, scheduler } = options
  const hasNone = controllers === false || (controllers?.join() === '-*' && !scheduler)
  if (!leaderElect || hasNone) return undefined
  return (await import('../shared/config/election-settings.ts')).electionOf(options)
}
