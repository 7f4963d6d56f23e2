import type { FastifyInstance } from 'fastify'
import type { Client } from '../shared/client/client.ts'
import type { Clock, Timer } from '../shared/clock/clock.ts'
import { movable } from '../shared/clock/movable-clock.ts'
import { toTime } from '../shared/clock/timestamp.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'
import { anonymous } from './auth/anonymous.ts'
import { bearerToken } from './auth/bearer-token.ts'
import { withBootstrapTokens } from './auth/bootstrap-tokens.ts'
import { clientCertificate } from './auth/client-certificate.ts'
import { injected } from './auth/injected.ts'
import { TokenIssuer } from './auth/service-account/service-account-tokens.ts'
import { uiPaths } from './auth/ui-paths.ts'
import { storeBootstrapPolicy } from './bootstrap/bootstrap-policy.ts'
import { storeSystemObjects } from './bootstrap/system-objects.ts'
import type { ApiServerConfig } from './config.ts'
import { Engine } from './engine.ts'
import { Guards } from './guards.ts'
import { forwarder } from './http/aggregation/forward.ts'
import type { ApiContext, Instruments } from './http/api-context.ts'
import { type AppOptions, buildApp } from './http/app.ts'
import { FlowControl } from './http/flow-control/flow-control.ts'
import { audit } from './http/hooks/audit.ts'
import { timeOfCluster } from './http/instruments/time-of-cluster.ts'
import { workLimitsOf } from './http/limits/limits.ts'
import { RequestMetrics } from './http/metrics/request-metrics.ts'
import { wellKnownPaths } from './http/nonresource/well-known-paths.ts'
import { createKubeletProxy, type KubeletProxy } from './http/proxy/kubelet-proxy.ts'
import { isServed } from './http/resources/resource-routes.ts'
import { Roots } from './http/routing/paths.ts'
import { type Listener, Transport } from './http/transport.ts'
import { UsageMeter } from './http/usage/usage-meter.ts'
import { Faults } from './instruments/faults.ts'
import { Journal } from './instruments/journal.ts'
import { Snapshots } from './instruments/snapshot.ts'
import type { User } from './kind/user.ts'
import { labelSecret } from './label-secret.ts'
import { createLocalClient, type LocalClientOptions } from './local-client.ts'
import { Catalog } from './registry/catalog.ts'
import { startExpiry } from './registry/expiry.ts'
import { expiryRules } from './registry/expiry-rules.ts'
import { ServedResources } from './registry/served-resources.ts'
import { resources } from './resources/index.ts'
import { type RecordFeed, Satellites, type SeveralServers, severalServers } from './satellites.ts'
import { Compaction } from './storage/compaction.ts'
import { createMemoryStorage } from './storage/memory.ts'
import type { Storage } from './storage/storage.ts'

export interface ApiServer {
  readonly host: string
  readonly port: number
  /** The port at which this server alone answers is there if others share `port`. */
  readonly ownPort?: number
  /** Straight onto the registry, acting as `user`, without authorization. */
  client(user: User, options?: LocalClientOptions): Client
  /** As an administrator; where other servers answer too, it sees what they have acknowledged before each request. */
  adminClient(): Client
  /** Holds the kinds that are served, custom resources included. */
  readonly resources: ServedResources
  readonly instruments: Instruments
  /** Returns how many other servers with the same objects have renewed their Leases lately. */
  otherServers(): number
  /**
   * Answers a request of the user without a network, through all hooks. Rejects for what does not end, such as a watch.
   */
  inject(user: Pick<User, 'name' | 'groups'>, request: InjectedRequest): Promise<InjectedAnswer>
  /** Resolves to what happens, as lines of a record. */
  record(): Promise<RecordFeed>
  /** Ends every watch and connection. */
  close(): Promise<void>
}

const bookmarkIntervalMs = 60_000
/** When a start is over, and hopefully before the first pod wants a token, the key for it is made. */
const signingKeyDelayMs = 300
const defaultTerminationTtlMs = 3_600_000
const defaultMaxTerminations = 2_000
const administrator: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
const self: User = { name: 'system:apiserver', groups: ['system:masters'] }

/** Puts the server together; resolves when it listens. */
export async function startApiServer(given: ApiServerConfig): Promise<ApiServer> {
  const { storage = createMemoryStorage() } = given
  const several = storage.catchUp && (await severalServers())
  const config = several ? await several.adjusted(given, storage) : given
  const catalog = new Catalog(resources)
  const now = toTime(config.clock.now())
  await storeBootstrapPolicy(storage, now)
  await storeSystemObjects(storage, catalog, { creationTimestamp: now, serviceCidr: config.serviceCidr })
  const guards = new Guards(config)
  const { limits, watchBacklog, connections, handshakes, reports } = guards
  const kubelet = createKubeletProxy(config.kubeletClient)
  const below = { catalog, storage, watchBacklog, dial: kubelet.dial, self, several }
  const engine = new Engine({ config, limits: workLimitsOf(limits), ...below })
  await engine.load()
  const transport = new Transport({ config, limits, handshakes, tracked: connections, reports })
  const lease = several?.serverLease({ storage, host: config.host, clock: config.clock, log: config.log })
  const api = {
    ...contextOf({ config, storage, engine, transport, several, kubelet }),
    otherServers: () => lease?.others() ?? 0,
  }
  await shareInstrumentsOf(api, storage)
  const satellites = new Satellites(api, config)
  const parts = { config, storage, guards, engine, transport, api, satellites, several, lease }
  const app = await buildApp(appOptions(parts))
  await lease?.start()
  return new RunningServer({ ...parts, app, listener: await transport.listen() })
}

interface Parts {
  config: ApiServerConfig
  storage: Storage
  guards: Guards
  engine: Engine
  transport: Transport
  api: ApiContext
  satellites: Satellites
  several: SeveralServers | undefined
  lease: ReturnType<SeveralServers['serverLease']> | undefined
}

/** Returns what handlers need. */
function contextOf({
  config,
  storage,
  engine,
  transport,
  several,
  kubelet,
}: Pick<Parts, 'config' | 'storage' | 'engine' | 'transport' | 'several'> & { kubelet: KubeletProxy }): Omit<
  ApiContext,
  'otherServers'
> {
  const { clock, log } = config
  const { registry, objects, authorization, wayToPod } = engine
  const accountTokens = new TokenIssuer({
    issuer: () => config.serviceAccountIssuer || several?.issuer || `https://${config.host}:${transport.port}`,
    keyPair: config.serviceAccountKey,
    lookup: objects.lookup,
    clock,
    label: (secret, labels) =>
      void labelSecret(registry, self, secret, labels).catch((error: unknown) =>
        log.debug({ err: error, namespace: secret.namespace, name: secret.name }, 'cannot label a Secret'),
      ),
  })
  const tokens =
    config.bootstrapTokens === false
      ? accountTokens
      : withBootstrapTokens(accountTokens, { lookup: objects.lookup, clock })
  const movableClock = movable(clock)
  const shared = (): Instruments['shared'] => instruments.shared
  const time = movableClock && timeOfCluster({ registry, kubelet, clock: movableClock, log, shared })
  const journal = new Journal(clock)
  journal.keep(config.journal ?? 0)
  const snapshots = new Snapshots(storage, engine.serviceClaims)
  const instruments: Instruments = { journal, faults: new Faults(), snapshots, time }
  return {
    catalog: registry.catalog,
    registry,
    compaction: new Compaction(storage, clock),
    clock,
    log,
    kubelet,
    wayToPod,
    usage: new UsageMeter(kubelet, clock),
    access: authorization.access,
    tokens,
    instruments,
  }
}

/** Where servers share a store of one of them, they share its instruments. */
async function shareInstrumentsOf(api: ApiContext, { peers }: Storage): Promise<void> {
  if (!peers) return
  const [{ shareInstruments }, { operationsOf }] = await Promise.all([
    import('./http/instruments/shared-instruments.ts'),
    import('./http/instruments/operations.ts'),
  ])
  const { clock, log, instruments } = api
  const parts = { ...instruments, peers, clock: movable(clock), log, operations: () => operationsOf(api) }
  instruments.shared = shareInstruments(parts)
}

/** Lists the rules of the app, in the order in which they apply. */
function appOptions({ config, guards, engine, transport, api, satellites, several, storage }: Parts): AppOptions {
  const { limits, connections, handshakes, answers, watchdog, watchBacklog, reports } = guards
  const roots = new Roots()
  const metrics = new RequestMetrics(({ resource, path }, version) =>
    resource ? isServed(api.catalog, resource, version) : roots.has(path),
  )
  const { lookupAll } = engine.objects
  const freshness = several?.freshness(engine)
  const flowControl = new FlowControl({ lookupAll, clock: config.clock, seats: limits.maxRequestsInflight })
  const { aggregation } = engine
  const forward = forwarder(aggregation, config.clock)
  const paths = wellKnownPaths({
    api,
    aggregation,
    forward,
    config,
    beside: satellites,
    requests: metrics,
    sources: [flowControl, handshakes, connections, answers, watchBacklog, watchdog, reports],
    watchdog,
    address: () => `${config.host}:${transport.port}`,
  })
  return {
    api,
    aggregation,
    forward,
    flowControl,
    metrics,
    connections,
    answers,
    reports,
    limits,
    watchdog,
    corsAllowedOrigins: config.corsAllowedOrigins,
    serverFactory: (handler) => transport.serve(handler),
    clientErrorHandler: (error, socket) => transport.refuse(error, socket),
    authenticators: [injected, clientCertificate(), bearerToken(api.tokens), anonymous],
    authorizers: [...engine.authorization.authorizers, uiPaths],
    paths,
    roots,
    audit: config.auditor && audit(config.auditor),
    freshness: freshness && (({ info }) => freshness(info)),
    plugins: config.plugins ?? [],
    client: () => adminClient({ api, storage, several }),
  }
}

function adminClient({ api, storage, several }: Pick<Parts, 'api' | 'storage' | 'several'>): Client {
  const client = createLocalClient(api, administrator)
  return several ? several.fresh(client, storage) : client
}

/** A server that listens, and what it does by itself from time to time. */
class RunningServer implements ApiServer {
  readonly host: string
  readonly port: number
  readonly ownPort: number | undefined
  readonly resources: ServedResources
  readonly instruments: Instruments
  readonly #parts: Parts & { app: FastifyInstance; listener: Listener }
  readonly #machine: Clock
  readonly #expiries: readonly { close(): void }[]
  readonly #signingKey: Timer
  #bookmarks: Timer

  constructor(parts: Parts & { app: FastifyInstance; listener: Listener }) {
    const { config, storage, api, listener } = parts
    this.#parts = parts
    this.#machine = config.clock.machine
    this.host = config.host
    this.port = listener.port
    this.ownPort = listener.ownPort
    this.resources = new ServedResources(api.catalog)
    this.instruments = api.instruments
    this.#expiries = startExpiries(storage, config)
    this.#signingKey = this.#machine.setTimer(signingKeyDelayMs, () => this.#makeSigningKey(), { background: true })
    this.#bookmarks = this.#nextBookmarks()
  }

  client(user: User, options?: LocalClientOptions): Client {
    return createLocalClient(this.#parts.api, user, options)
  }

  adminClient(): Client {
    return adminClient(this.#parts)
  }

  otherServers(): number {
    return this.#parts.api.otherServers()
  }

  async inject(user: Pick<User, 'name' | 'groups'>, request: InjectedRequest): Promise<InjectedAnswer> {
    const { inject } = await import('./http/plugins/inject.ts')
    return inject(this.#parts.app, user, request)
  }

  record(): Promise<RecordFeed> {
    return this.#parts.satellites.feed()
  }

  async close(): Promise<void> {
    const { api, app, config, listener, engine, guards, storage, lease } = this.#parts
    this.#bookmarks.cancel()
    this.#signingKey.cancel()
    for (const expiry of this.#expiries) expiry.close()
    api.compaction.close()
    this.instruments.time?.close()
    await engine.close()
    await listener.close()
    await app.close()
    guards.close()
    await api.tokens.settled()
    await config.auditor?.close()
    api.kubelet.close()
    engine.closeConnections()
    await lease?.close()
    await storage.close()
  }

  #makeSigningKey(): void {
    const { api, config } = this.#parts
    api.tokens.key().catch((error: unknown) => config.log.error({ err: error }, 'no key to sign tokens with'))
  }

  #nextBookmarks(): Timer {
    return this.#machine.setTimer(bookmarkIntervalMs, () => this.#sendBookmarks(), { background: true })
  }

  #sendBookmarks(): void {
    this.#parts.engine.objects.sendBookmarks()
    this.#bookmarks = this.#nextBookmarks()
  }
}

/** Deletes events and records of terminations when their time is over. */
function startExpiries(
  storage: Storage,
  { clock: { machine: clock }, terminationTtlMs, maxTerminations }: ApiServerConfig,
): { close(): void }[] {
  const [events, records] = expiryRules(terminationTtlMs ?? defaultTerminationTtlMs)
  const terminations = { ...records, max: maxTerminations ?? defaultMaxTerminations }
  return [events, terminations].map((rule) => startExpiry({ storage, clock, ...rule }))
}
