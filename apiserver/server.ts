import type { Service } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { pods, secrets } from '../shared/client/resources.ts'
import { movable } from '../shared/clock/movable-clock.ts'
import { toTime } from '../shared/clock/timestamp.ts'
import { chargeQuotaIn } from './admission/charge-quota.ts'
import { admissionPlugins } from './admission/plugins.ts'
import { rbacEscalation } from './admission/rbac-escalation.ts'
import { rulesOf } from './apiextensions/cel/rule-check.ts'
import { CustomResources } from './apiextensions/custom-resources.ts'
import { createAccess } from './auth/access.ts'
import { anonymous } from './auth/anonymous.ts'
import { bearerToken } from './auth/bearer-token.ts'
import { withBootstrapTokens } from './auth/bootstrap-tokens.ts'
import { clientCertificate } from './auth/client-certificate.ts'
import { injected } from './auth/injected.ts'
import { createNodeAuthorizer } from './auth/node-authorizer.ts'
import { nodeRelations } from './auth/node-relations.ts'
import { createRbacAuthorizer } from './auth/rbac/rbac-authorizer.ts'
import { createRuleResolver } from './auth/rbac/rule-resolver.ts'
import { createServiceAccountTokens } from './auth/service-account/service-account-tokens.ts'
import { superuser } from './auth/superuser.ts'
import type { Authorizer, User } from './auth/types.ts'
import { storeBootstrapPolicy } from './bootstrap/bootstrap-policy.ts'
import { storeSystemObjects } from './bootstrap/system-objects.ts'
import type { ApiServerConfig } from './config.ts'
import type { ApiContext, Instruments } from './http/api-context.ts'
import { createFlowControl } from './http/flow-control/flow-control.ts'
import { buildApp } from './http/front/app.ts'
import { Roots } from './http/front/paths.ts'
import { Transport } from './http/front/transport.ts'
import { timeOfCluster } from './http/instruments/time-of-cluster.ts'
import { Answers } from './http/limits/answers.ts'
import { ClientLimits } from './http/limits/client-limits.ts'
import { Connections } from './http/limits/connections.ts'
import { Handshakes } from './http/limits/handshakes.ts'
import { limitsOf } from './http/limits/limits.ts'
import { Watchdog } from './http/limits/watchdog.ts'
import { RequestMetrics } from './http/metrics/request-metrics.ts'
import { wellKnownPaths } from './http/nonresource/well-known-paths.ts'
import type { InjectedAnswer, InjectedRequest } from './http/plugins/injected-request.ts'
import { createKubeletProxy } from './http/proxy/kubelet-proxy.ts'
import { isServed } from './http/resources/resource-routes.ts'
import { Faults } from './instruments/faults.ts'
import { Journal } from './instruments/journal.ts'
import { Snapshots } from './instruments/snapshot.ts'
import { createLocalClient, type LocalClientOptions } from './local-client.ts'
import { Catalog } from './registry/catalog.ts'
import { startEndpointRemovals } from './registry/endpoint-removals.ts'
import { startExpiry } from './registry/expiry.ts'
import { keyPrefix } from './registry/keys.ts'
import { Registry } from './registry/registry.ts'
import { ServedResources } from './registry/served-resources.ts'
import { admissionregistration } from './resources/admissionregistration/index.ts'
import { resources } from './resources/index.ts'
import { createServiceAddresses } from './resources/service/addresses.ts'
import { Compaction } from './storage/compaction.ts'
import { createMemoryStorage } from './storage/memory.ts'
import { WatchBacklog } from './watchcache/watch-backlog.ts'
import { serviceResolver } from './webhook-client/service-resolver.ts'
import { createWebhookClient } from './webhook-client/webhook-client.ts'
import { workLimits } from './work-limits.ts'

export interface ApiServer {
  readonly host: string
  readonly port: number
  /** Straight onto the registry, acting as `user`, without authorization. */
  client(user: User, options?: LocalClientOptions): Client
  /** What is served, custom resources included. */
  readonly resources: ServedResources
  readonly instruments: Instruments
  /**
   * Answers a request of the user without a network, through all hooks. Rejects for what does not end, such as a watch.
   */
  inject(user: Pick<User, 'name' | 'groups'>, request: InjectedRequest): Promise<InjectedAnswer>
  /** Ends every watch and connection. */
  close(): Promise<void>
}

const bookmarkIntervalMs = 60_000
/** When a start is over, and hopefully before the first pod wants a token, the key for it is made. */
const signingKeyDelayMs = 300
const eventTtlMs = 3_600_000
const defaultTerminationTtlMs = 3_600_000
const defaultMaxTerminations = 2_000
const everything: Authorizer = { authorize: () => ({ verdict: 'allow' }) }
const administrator: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
const self: User = { name: 'system:apiserver', groups: ['system:masters'] }

/** Puts the server together; resolves when it listens. Which rules there are, and in which order, stands here. */
export async function startApiServer(config: ApiServerConfig): Promise<ApiServer> {
  const { clock, log } = config
  const catalog = new Catalog(resources)
  const { storage = createMemoryStorage() } = config
  const now = toTime(clock.now())
  await storeBootstrapPolicy(storage, now)
  await storeSystemObjects(storage, catalog, { creationTimestamp: now, serviceCidr: config.serviceCidr })
  const limits = limitsOf(config.limits ?? {})
  Object.assign(workLimits, { celSteps: limits.maxCelSteps, statusCauseBytes: limits.maxStatusCauseBytes })
  const reports = new ClientLimits({ clock: clock.machine, log })
  const watchBacklog = new WatchBacklog({
    perWatch: limits.maxUnreadBytesPerWatch,
    all: limits.maxUnreadBytes,
    onReached: (limit, { connection = {} }, bytes) =>
      reports.reached(limit === 'all' ? 'maxUnreadBytes' : 'maxUnreadBytesPerWatch', connection, { bytes }),
  })
  const registry = new Registry({
    catalog,
    storage,
    clock,
    featureGates: { enabled: (name) => config.featureGates[name] ?? false },
    random: Math.random,
    watchBacklog,
  })
  await registry.load()
  const addresses = createServiceAddresses({
    cidr: config.serviceCidr,
    services: () => registry.lookupAll({ group: '', plural: 'services' }) as unknown as Iterable<Service>,
    nowMs: () => clock.now(),
  })
  registry.serviceAddresses = addresses
  const freed = storage.watch({
    prefix: keyPrefix({ group: '', plural: 'services' }),
    onEvents(events) {
      for (const { previous } of events) if (previous) addresses.release(JSON.parse(previous.value) as Service)
    },
  })

  const webhookClient = createWebhookClient({ clock, resolveService: serviceResolver(registry) })
  const customResources = new CustomResources({ registry, log, rulesOf, webhookClient })
  await customResources.start()

  let port = config.port
  const kubelet = createKubeletProxy(config.kubeletClient)
  const { lookup } = registry
  const accountTokens = createServiceAccountTokens({
    issuer: () => `https://${config.host}:${port}`,
    keyPair: config.serviceAccountKey,
    lookup,
    clock,
    label: ({ namespace, name = '', uid }, labels) =>
      void client(self)
        .patch(secrets, { namespace, name }, { metadata: { uid, labels } })
        .catch((error: unknown) => log.debug({ err: error, namespace, name }, 'cannot label a Secret')),
  })
  const tokens =
    config.bootstrapTokens === false ? accountTokens : withBootstrapTokens(accountTokens, { lookup, clock })
  const rules = createRuleResolver(registry.lookup, registry.lookupAll)
  const authorizers: Authorizer[] = [superuser]
  const access = createAccess(authorizers, rules)
  const movableClock = movable(clock)
  const time = movableClock && timeOfCluster({ registry, kubelet, clock: movableClock, log })
  const instruments = { journal: new Journal(clock), faults: new Faults(), snapshots: new Snapshots(storage), time }
  instruments.journal.keep(config.journal ?? 0)
  const compaction = new Compaction(storage, clock)
  const api: ApiContext = { catalog, registry, compaction, clock, log, kubelet, access, tokens, instruments }
  const client = (user: User, options?: LocalClientOptions): Client => createLocalClient(api, user, options)
  const relations = nodeRelations({
    lookup: registry.lookup,
    podsOf: (nodeName, namespace) => registry.lookupBy(pods, namespace, { field: 'spec.nodeName', value: nodeName }),
    volumes: () => registry.lookupAll({ group: '', plural: 'persistentvolumes' }),
  })
  authorizers.push(createNodeAuthorizer(relations), createRbacAuthorizer(rules))
  if (config.alwaysAllow) authorizers.push(everything)
  registry.endpointRemovals = startEndpointRemovals({ storage, clock })
  registry.admission.push(
    ...admissionPlugins(
      {
        lookup: registry.lookup,
        lookupAll: registry.lookupAll,
        access,
        chargeQuota: chargeQuotaIn(registry, self),
        webhooks: {
          client: webhookClient,
          lookup: registry.lookup,
          log,
          follow: (plural) =>
            registry.follow(admissionregistration.find((definition) => definition.plural === plural)!),
          catalog,
          applyDefaults: (definition, object) => {
            const { namespace } = object.metadata
            definition.strategy.applyDefaults?.(object, registry.strategyContext({ definition, namespace, user: self }))
          },
        },
        nowMs: () => clock.now(),
        random: registry.random,
      },
      config.disabledAdmissionPlugins,
    ),
  )
  registry.admission.push(rbacEscalation(access))
  const roots = new Roots()
  const metrics = new RequestMetrics(({ resource, path }, version) =>
    resource ? isServed(catalog, resource, version) : roots.has(path),
  )
  const flowControl = createFlowControl({ lookupAll: registry.lookupAll, clock, seats: limits.maxRequestsInflight })
  const connections = new Connections(limits, { clock: clock.machine, reports })
  const handshakes = new Handshakes(limits, { clock: clock.machine, reports })
  const answers = new Answers(limits, { clock: clock.machine, reports })
  const watchdog = new Watchdog({ clock: clock.machine, log })
  const paths = wellKnownPaths({
    api,
    config,
    requests: metrics,
    sources: [flowControl, handshakes, connections, answers, watchBacklog, watchdog, reports],
    watchdog,
    address: () => `${config.host}:${port}`,
  })
  const transport = new Transport({ config, limits, handshakes, tracked: connections, reports })
  const app = await buildApp({
    api,
    flowControl,
    metrics,
    connections,
    answers,
    reports,
    maxBodyBytes: limits.maxRequestBodyBytes,
    watchdog,
    corsAllowedOrigins: config.corsAllowedOrigins,
    serverFactory: (handler) => transport.serve(handler),
    clientErrorHandler: (error, socket) => transport.refuse(error, socket),
    authenticators: [injected, clientCertificate(), bearerToken(tokens), anonymous],
    authorizers,
    paths,
    roots,
    plugins: config.plugins ?? [],
    client: () => client(administrator),
  })
  const { machine } = clock
  const events = startExpiry({
    storage,
    clock: machine,
    prefix: keyPrefix({ group: '', plural: 'events' }),
    ttlMs: eventTtlMs,
  })
  const terminations = startExpiry({
    storage,
    clock: machine,
    prefix: keyPrefix({ group: 'kubestage.dev', plural: 'terminations' }),
    ttlMs: config.terminationTtlMs ?? defaultTerminationTtlMs,
    max: config.maxTerminations ?? defaultMaxTerminations,
  })
  const listener = await transport.listen()
  port = listener.port
  const signingKey = machine.setTimer(
    signingKeyDelayMs,
    () => tokens.key().catch((error: unknown) => log.error({ err: error }, 'no key to sign tokens with')),
    { background: true },
  )
  let bookmarks = machine.setTimer(bookmarkIntervalMs, sendBookmarks, { background: true })
  function sendBookmarks(): void {
    registry.sendBookmarks()
    bookmarks = machine.setTimer(bookmarkIntervalMs, sendBookmarks, { background: true })
  }
  return {
    host: config.host,
    port: listener.port,
    client,
    resources: new ServedResources(catalog),
    instruments,
    async inject(user, request) {
      const { inject } = await import('./http/plugins/inject.ts')
      return inject(app, user, request)
    },
    async close() {
      bookmarks.cancel()
      compaction.close()
      freed.close()
      signingKey.cancel()
      events.close()
      terminations.close()
      time?.close()
      registry.endpointRemovals?.close()
      await customResources.close()
      registry.close()
      await listener.close()
      await app.close()
      answers.close()
      handshakes.close()
      reports.close()
      watchdog.close()
      await tokens.settled()
      kubelet.close()
      webhookClient.close()
      await storage.close()
    },
  }
}
