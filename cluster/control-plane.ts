import type { Auditor } from '../apiserver/audit/auditor.ts'
import type { AuditFlags } from '../apiserver/audit/options.ts'
import { checkClusterCa } from '../apiserver/bootstrap/cluster-identity.ts'
import type { Http2Choice } from '../apiserver/config.ts'
import type { Instruments } from '../apiserver/http/api-context.ts'
import { type Limits, limitsOf } from '../apiserver/http/limits/limits.ts'
import type { NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import { kubeletCredentials } from '../apiserver/http/proxy/kubelet-proxy.ts'
import type { User } from '../apiserver/kind/user.ts'
import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import type { EtcdFiles } from '../apiserver/storage/open-options.ts'
import { openStorage, type StorageChoice, showStorage } from '../apiserver/storage/open-storage.ts'
import type { Storage } from '../apiserver/storage/storage.ts'
import type { startControllers } from '../controllers/index.ts'
import { bootstrap } from '../controllers/server-objects/bootstrap.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { ElectionFlags } from '../shared/config/election-options.ts'
import type { ElectionSettings } from '../shared/config/election-settings.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import { readInputText } from '../shared/config/input.ts'
import type { LoopFlags } from '../shared/config/loop-options.ts'
import { ConfigError } from '../shared/config/option.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'
import type { Logger } from '../shared/log/log.ts'
import type { ClusterPki } from '../shared/pki/cluster-pki.ts'
import { checkTypes } from './check-types.ts'
import { injectedPaths } from './injected-paths.ts'
import { loopSettings } from './loop-settings.ts'
import { foldersIn } from './volume-folders.ts'

export interface ControlPlaneOptions
  extends Partial<Limits>,
    Partial<ElectionFlags>,
    Partial<LoopFlags>,
    Partial<AuditFlags>,
    EtcdFiles {
  host: string
  /** 0 takes a free one. */
  port: number
  /** A second port, at which this server alone answers: others may listen at `port` as well. 0 takes a free one. */
  ownPort?: number
  http2?: Http2Choice
  serviceAccountIssuer?: string
  serviceCidr: string
  featureGates: FeatureGates
  corsAllowedOrigins?: readonly string[]
  /** Names a PEM file. If it is absent or empty, certificates of kubelets are not verified. */
  kubeletCertificateAuthority?: string
  /** Milliseconds that the records of terminations are kept; less than 0: the engine of the storage decides. */
  terminationTtl?: number
  /** The range out of which each node gets one for its pods. Absent or empty: they get none. */
  clusterCidr?: string
  scheduler: boolean
  /**
   * In the form of kube-controller-manager's `--controllers`; `false`: the server stands alone, and pods need no
   * service account. Default: all.
   */
  controllers?: readonly string[] | false
  /** A folder of this machine for the volumes that claims get. Absent: they get none. */
  volumesDir?: string
  /** Chooses where objects are kept; in memory by default. */
  storage?: StorageChoice
  /** Sets the prefix of the keys in etcd; /registry by default. */
  etcdPrefix?: string
  /** Path of a Unix socket at which other API servers of this machine reach a store in memory or in a file. */
  offerAt?: string
  /** URL of the API server for machines that join the cluster, in cluster-info. Default: the one it listens on. */
  joinUrl?: string
  /** Holds the address of all API servers together; by default that of the first of them. */
  controlPlaneEndpoint?: string
  /** Sets what /version announces; v1.36.3 by default. */
  kubernetesVersion?: string
  /** Sets how many requests the journal keeps; none by default. */
  journal?: number
  /** Lists the plugins of users. */
  plugins?: readonly NamedPlugin[]
  pki: ClusterPki
  clock: Clock
  log: Logger
  /** Receives one line for the user about each unexpected event. Without it such events are only logged. */
  onTrouble?(line: string): void
}

export interface ControlPlane {
  url: string
  /** Names the address of this server alone; the same as `url` if no other server listens there. */
  ownUrl: string
  port: number
  /** Reads and writes as an administrator, without the network. */
  client: Client
  /** Returns a client that acts as the kubelet of a node, without the network. */
  nodeClient(nodeName: string): Client
  instruments: Instruments
  /** Answers a request without the network; by default as an administrator. */
  inject(request: InjectedRequest, user?: Pick<User, 'name' | 'groups'>): Promise<InjectedAnswer>
  /** Resolves to what happens, as lines of a record. */
  record: ApiServer['record']
  close(): Promise<void>
}

const controllerManager: User = {
  name: 'system:kube-controller-manager',
  groups: ['system:masters', 'system:authenticated'],
}
const admin: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }

const nodeUser = (name: string): User => ({
  name: `system:node:${name}`,
  groups: ['system:nodes', 'system:authenticated'],
})

/** An API server with its controllers in one process; the controllers know nothing of it but a client. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { host, pki, clock, log, controllers: chosen } = options
  const [election, auditor] = [await electionFor(options), await auditorFor(options)]
  const storage = await openFor(options)
  const server = await startApiServer({
    storage,
    ...listening(options),
    tls: { cert: pki.apiServer.cert, key: pki.apiServer.key, clientCa: pki.ca.cert },
    kubeletClient: kubeletCredentials(pki, authorityIn(options.kubeletCertificateAuthority)),
    frontProxyClient: () => pki.frontProxyClient,
    serviceAccountKey: pki.serviceAccountKey,
    ...seenByClients(options),
    limits: limitsOf(options),
    ...keptTerminations(options),
    disabledAdmissionPlugins: options.controllers === false ? ['ServiceAccount'] : [],
    journal: options.journal,
    plugins: options.plugins,
    auditor,
    clock,
    log,
  }).catch(async (error) => {
    await storage.close()
    throw error
  })
  const { url, ownUrl } = urlsOf(host, server)
  try {
    const start = chosen === false ? startNone : (await import('../controllers/index.ts')).startControllers
    const controllers = await start({
      client: server.client(controllerManager, { exact: true }),
      clock,
      log,
      resources: server.resources,
      scheduler: options.scheduler,
      chosen: chosen || undefined,
      election,
      termClient: ({ leader }) => server.client(controllerManager, { exact: true, leader }),
      paths: injectedPaths((request) => server.inject(controllerManager, request)),
      ...loopSettings(options),
      ca: pki.ca,
      requestHeaderCa: pki.frontProxyCa.cert,
      serverUrl: options.controlPlaneEndpoint || options.joinUrl || url,
      keepsServerUrl: !options.controlPlaneEndpoint && server.otherServers() > 0,
      securePort: server.port,
      kubernetesServiceIP: firstAddress(options.serviceCidr),
      host,
      isShared: storage.catchUp !== undefined,
      checkTypes,
      volumeFolders: options.volumesDir === undefined ? undefined : foldersIn(options.volumesDir),
    })
    await server.instruments.snapshots.markStart()
    return {
      url,
      ownUrl,
      port: server.port,
      client: server.adminClient(),
      nodeClient: (name) => server.client(nodeUser(name)),
      instruments: server.instruments,
      inject: (request, user = admin) => server.inject(user, request),
      record: () => server.record(),
      async close() {
        await controllers.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

/** Returns undefined where nothing is recorded: the code of audit logs is then not loaded. */
async function auditorFor({ auditPolicyFile, ...options }: ControlPlaneOptions): Promise<Auditor | undefined> {
  if (!auditPolicyFile) return undefined
  return (await import('../apiserver/audit/auditor.ts')).auditorOf({ auditPolicyFile, ...options }, options)
}

/** Undefined: loops that always run. Only etcd is shared by several servers. */
async function electionFor(options: ControlPlaneOptions): Promise<ElectionSettings | undefined> {
  const { leaderElect = options.storage?.engine === 'etcd', controllers, scheduler } = options
  const hasNone = controllers === false || (controllers?.join() === '-*' && !scheduler)
  if (!leaderElect || hasNone) return undefined
  return (await import('../shared/config/election-settings.ts')).electionOf(options)
}

async function openFor(options: ControlPlaneOptions): Promise<Storage> {
  const { storage = { engine: 'memory' }, pki, log } = options
  const onTrouble = (line: string): void => {
    log.warn(line)
    options.onTrouble?.(line)
  }
  const opened = await openStorage(storage, { ...options, onRoom: (isFull) => tellRoom(options, isFull), onTrouble })
  if (!opened.catchUp) return opened
  try {
    await checkClusterCa(opened, pki.ca.cert)
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

function tellRoom({ log, onTrouble, storage }: ControlPlaneOptions, isFull: boolean): void {
  const isFile = storage?.engine === 'sqlite'
  const place = isFile ? `storage file ${storage.file}` : `storage ${showStorage(storage ?? { engine: 'memory' })}`
  const line = isFull
    ? `${place}: ${isFile ? 'the disk is full' : 'its quota is used up'}; reads and deletes go on, other writes are refused until there is room`
    : `${place}: there is room again; writes go on`
  log.warn(line)
  onTrouble?.(line)
}

function authorityIn(file = ''): string | undefined {
  if (!file) return undefined
  try {
    return readInputText(file)
  } catch (error) {
    throw new ConfigError(`--kubelet-certificate-authority: ${(error as Error).message}`)
  }
}

const listening = ({ host, port, ownPort, http2 }: ControlPlaneOptions) => ({ host, port, ownPort, http2 })

function urlsOf(host: string, { port, ownPort = port }: ApiServer): Pick<ControlPlane, 'url' | 'ownUrl'> {
  const origin = `https://${urlHost(host)}:`
  return { url: origin + port, ownUrl: origin + ownPort }
}

/** What clients of the server see of it, whatever it stores. */
function seenByClients(options: ControlPlaneOptions) {
  const { kubernetesVersion, serviceAccountIssuer, serviceCidr, featureGates, corsAllowedOrigins } = options
  return { kubernetesVersion, serviceAccountIssuer, serviceCidr, featureGates, corsAllowedOrigins }
}

/** In a file or etcd they outlive restarts, and so are kept longer; either way they are in memory, too. */
function keptTerminations({ terminationTtl = -1, storage }: ControlPlaneOptions) {
  const isDurable = storage !== undefined && storage.engine !== 'memory'
  const defaultMs = isDurable ? 7 * 24 * 3_600_000 : 3_600_000
  return {
    terminationTtlMs: terminationTtl < 0 ? defaultMs : terminationTtl,
    maxTerminations: isDurable ? 10_000 : 2_000,
  }
}

/** The first objects of a cluster, without controllers that maintain them. */
const startNone: typeof startControllers = async ({
  client,
  clock,
  securePort,
  kubernetesServiceIP,
  host,
  ca,
  requestHeaderCa,
}) => {
  const nowMs = clock.now()
  const clientCas = { clientCa: ca.cert, requestHeaderCa }
  await bootstrap(client, { securePort, clusterIP: kubernetesServiceIP, host, ...clientCas, nowMs })
  return { close: async () => {} }
}

/** `10.96.0.0/16` → `10.96.0.1`, the address of the `kubernetes` Service. */
export function firstAddress(cidr: string): string {
  const [network = ''] = cidr.split('/')
  return network.replace(/\d+$/, (last) => String(Number(last) + 1))
}

/** A client on this machine cannot speak to "all addresses". */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
