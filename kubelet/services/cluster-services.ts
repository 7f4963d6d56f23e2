import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { type Informer, type InformerHandler, startInformer } from '../../shared/client/informer.ts'
import { endpointSlices, services } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'

export interface ClusterServicesOptions {
  client: Client
  clock: Clock
  onError(error: unknown): void
}

/** Knows the Services of the cluster and what is behind them. A kubelet without networks of pods has none. */
export class ClusterServices {
  readonly #services: Informer<Service>
  readonly #slices: Informer<EndpointSlice>

  constructor(options: ClusterServicesOptions) {
    this.#services = startInformer<Service>({
      ...options,
      resource: services,
      indexes: {
        ip: ({ spec }) => (spec?.clusterIPs ?? []).filter((ip) => ip !== 'None'),
        namespace: ({ metadata }) => [metadata.namespace ?? ''],
      },
    })
    this.#slices = startInformer<EndpointSlice>({
      ...options,
      resource: endpointSlices,
      indexes: {
        service: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[SERVICE_LABEL]}`],
        address: ({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses),
      },
    })
  }

  async synced(): Promise<void> {
    await Promise.all([this.#services.synced(), this.#slices.synced()])
  }

  list(): IterableIterator<Service> {
    return this.#services.list()
  }

  service(namespace: string, name: string): Service | undefined {
    return this.#services.get({ namespace, name })
  }

  slices(namespace: string, service: string): EndpointSlice[] {
    return this.#slices.byIndex('service', `${namespace}/${service}`)
  }

  withClusterIP(ip: string): Service | undefined {
    return this.#services.byIndex('ip', ip)[0]
  }

  slicesWith(address: string): EndpointSlice[] {
    return this.#slices.byIndex('address', address)
  }

  hasNamespace(namespace: string): boolean {
    return this.#services.byIndex('namespace', namespace).length > 0
  }

  /** Calls back at each change of a Service, or of what is behind one. */
  onChange(changed: () => void): void {
    const handler: InformerHandler<Service | EndpointSlice> = { onAdd: changed, onUpdate: changed, onDelete: changed }
    this.#services.addHandler(handler)
    this.#slices.addHandler(handler)
  }

  async close(): Promise<void> {
    await Promise.all([this.#services.close(), this.#slices.close()])
  }
}

export const serviceOf = ({ metadata }: EndpointSlice): string => metadata.labels?.[SERVICE_LABEL] ?? ''
