import { holdingOf } from '../shared/api/services/service-holding.ts'
import type { Service } from '../shared/api/types.ts'
import { chargeQuotaIn } from './admission/charge-quota.ts'
import { admissionPlugins } from './admission/plugins.ts'
import { rbacEscalation } from './admission/rbac-escalation.ts'
import { Aggregation } from './aggregation/aggregation.ts'
import { LocalApiServices } from './aggregation/local-api-services.ts'
import { rulesOf } from './apiextensions/cel/rule-check.ts'
import { CustomResources } from './apiextensions/custom-resources.ts'
import { type Authorization, authorizationBy } from './authorization.ts'
import type { ApiServerConfig } from './config.ts'
import type { ServiceAddresses } from './kind/resource-definition.ts'
import type { User } from './kind/user.ts'
import type { Catalog } from './registry/catalog.ts'
import { type EndpointRemovals, startEndpointRemovals } from './registry/endpoint-removals.ts'
import { keyPrefix } from './registry/keys.ts'
import { ObjectCaches } from './registry/object-caches.ts'
import { Registry } from './registry/registry.ts'
import { type DialByKubelet, type WayToPod, wayToPod } from './registry/way-to-pod.ts'
import { admissionregistration } from './resources/admissionregistration/webhooks-and-policies/index.ts'
import { customresourcedefinition } from './resources/apiextensions/customresourcedefinition.ts'
import { apiservice } from './resources/apiregistration/apiservice.ts'
import { createServiceAddresses } from './resources/core/service/addresses.ts'
import type { SeveralServers } from './satellites.ts'
import type { Storage, StorageWatch } from './storage/storage.ts'
import type { WatchBacklog } from './watchcache/watch-backlog.ts'
import { serviceResolver } from './webhook-client/service-resolver.ts'
import { createWebhookClient, type WebhookClient } from './webhook-client/webhook-client.ts'
import type { WorkLimits } from './work-limits.ts'

export interface EngineOptions {
  config: ApiServerConfig
  limits: WorkLimits
  catalog: Catalog
  storage: Storage
  watchBacklog: WatchBacklog
  dial: DialByKubelet
  /** Names the user as which the server itself writes. */
  self: User
  /** Holds what a server needs that shares its objects with other servers. */
  several?: SeveralServers
}

/**
 * The engine reads and writes objects: it joins caches, authorization, admission, the registry, and the kinds that
 * users define.
 */
export class Engine {
  readonly objects: ObjectCaches
  readonly authorization: Authorization
  readonly wayToPod: WayToPod
  readonly registry: Registry
  readonly #webhookClient: WebhookClient
  readonly customResources: CustomResources
  readonly #localApiServices: LocalApiServices
  readonly aggregation: Aggregation
  readonly #endpointRemovals: EndpointRemovals
  readonly #freedAddresses: StorageWatch
  readonly #deletionRequests: ReturnType<SeveralServers['deletionRequests']> | undefined
  /** Present where other servers give out of the same addresses. */
  readonly serviceClaims: ReturnType<SeveralServers['serviceClaims']> | undefined

  constructor({ config, limits, catalog, storage, watchBacklog, dial, self, several }: EngineOptions) {
    const { clock, log, featureGates, disabledAdmissionPlugins } = config
    this.objects = new ObjectCaches({ catalog, storage, watchBacklog, clock })
    const { lookup, lookupAll } = this.objects
    this.wayToPod = wayToPod(lookup, dial)
    this.authorization = authorizationBy(this.objects, config)
    const { access } = this.authorization
    this.#webhookClient = createWebhookClient({ clock, resolveService: serviceResolver(this.objects, this.wayToPod) })
    const nowMs = (): number => clock.now()
    this.#deletionRequests = several?.deletionRequests(storage, clock)
    this.serviceClaims = several?.serviceClaims({ objects: this.objects, clock, log })
    const serviceAddresses = createServiceAddresses({
      cidr: config.serviceCidr,
      services: () => lookupAll({ group: '', plural: 'services' }) as unknown as Iterable<Service>,
      nowMs,
      random: Math.random,
      shared: this.serviceClaims,
    })
    this.#freedAddresses = releaseFreed(storage, serviceAddresses)
    this.#endpointRemovals = startEndpointRemovals({ storage, clock })
    const webhooks = {
      limits,
      client: this.#webhookClient,
      lookup,
      log,
      follow: (plural: string) =>
        this.objects.follow(admissionregistration.find((definition) => definition.plural === plural)!),
      catalog,
    }
    this.registry = new Registry({
      objects: this.objects,
      clock,
      lastStateMs: config.lastStateMs,
      limits,
      featureGates,
      random: Math.random,
      serviceAddresses,
      deletionRequests: this.#deletionRequests,
      endpointRemovals: this.#endpointRemovals,
      admission: (registry) => [
        ...admissionPlugins(
          {
            lookup,
            lookupAll,
            access,
            chargeQuota: chargeQuotaIn(registry, self),
            webhooks: {
              ...webhooks,
              applyDefaults(definition, object) {
                const { namespace } = object.metadata
                const context = registry.strategyContext({ definition, namespace, user: self })
                definition.strategy.applyDefaults?.(object, context)
              },
            },
            nowMs,
            random: Math.random,
          },
          disabledAdmissionPlugins,
        ),
        rbacEscalation(access),
      ],
    })
    const parts = { registry: this.registry, log, rulesOf, webhookClient: this.#webhookClient }
    this.customResources = new CustomResources({ kind: customresourcedefinition, ...parts })
    const kinds = { apiService: apiservice, definition: customresourcedefinition }
    const known = { registry: this.registry, self, clock, log }
    this.#localApiServices = new LocalApiServices({ kinds, ...known })
    const certificate = () => config.frontProxyClient()
    this.aggregation = new Aggregation({ kind: apiservice, certificate, wayToPod: this.wayToPod, ...known })
  }

  /** Takes in what is stored already; resolves when all kinds of it are served. */
  async load(): Promise<void> {
    await this.objects.load()
    await this.serviceClaims?.load()
    await this.#deletionRequests?.load()
    await this.customResources.start()
    this.#localApiServices.start()
    this.aggregation.start()
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    this.#freedAddresses.close()
    this.serviceClaims?.close()
    this.#deletionRequests?.close()
    this.#endpointRemovals.close()
    await this.#localApiServices.close()
    await this.aggregation.close()
    await this.customResources.close()
    this.objects.close()
  }

  /** Closes all connections. The server calls it when it answers no request any more. */
  closeConnections(): void {
    this.#webhookClient.close()
  }
}

const releaseFreed = (storage: Storage, addresses: ServiceAddresses): StorageWatch =>
  storage.watch({
    prefix: keyPrefix({ group: '', plural: 'services' }),
    onEvents(events) {
      for (const { previous } of events)
        if (previous) addresses.release(holdingOf(JSON.parse(previous.value) as Service))
    },
  })
