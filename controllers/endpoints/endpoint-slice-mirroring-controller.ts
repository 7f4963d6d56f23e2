import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyChange, type Informer } from '../../shared/client/informer.ts'
import {
  endpointSlices,
  endpoints as endpointsResource,
  services as servicesResource,
} from '../../shared/client/resources.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { Expectations } from '../workloads/expectations.ts'
import { isMirrored, MIRROR_MANAGER, planMirror } from './mirrored-slices.ts'
import { MANAGED_BY_LABEL } from './slices.ts'

/**
 * Mirrors the Endpoints of services without a selector into EndpointSlices. Upstream:
 * pkg/controller/endpointslicemirroring.
 */
class EndpointSliceMirroring implements Controller {
  readonly #client: Client
  readonly #services: Informer<Service>
  readonly #endpoints: Informer<Endpoints>
  readonly #slices: Informer<EndpointSlice>
  readonly #recorder: EventRecorder
  /** Slices that were made and are not seen yet. */
  readonly #expectations: Expectations
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext) {
    this.#client = client
    this.#services = informers.whole<Service>(servicesResource)
    this.#endpoints = informers.whole<Endpoints>(endpointsResource)
    this.#slices = informers.whole<EndpointSlice>(endpointSlices)
    this.#recorder = createEventRecorder({ client, clock, log, component: 'endpoint-slice-mirroring-controller' })
    this.#expectations = new Expectations(clock)
    this.#queue = createLoopQueue(
      { clock, log, loop: 'endpointslice-mirroring-controller', object: 'Service', concurrency: 5 },
      (key) => this.#sync(key),
    )
    this.#endpoints.addHandler(everyChange((endpoints) => this.#considerEndpoints(endpoints)))
    this.#slices.addHandler(everyChange((slice) => this.#considerSlice(slice)))
    this.#services.addHandler({
      onAdd: (service) => this.#considerService(service),
      onUpdate: (service, old) => {
        const changed = (service.spec?.selector === undefined) !== (old.spec?.selector === undefined)
        if (changed) this.#queue.add(keyOf(service.metadata))
      },
      onDelete: (service) => this.#considerService(service),
    })
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  #mirroredOf(namespace: string, name: string): EndpointSlice[] {
    return this.#slices
      .byIndex('namespace', namespace)
      .filter(({ metadata }) => isOurs(metadata) && metadata.labels?.[SERVICE_LABEL] === name)
  }

  async #sync(key: string): Promise<void> {
    if (!this.#expectations.satisfied(key)) return
    const [namespace = '', name = ''] = key.split('/')
    const source = this.#endpoints.get({ namespace, name })
    const service = this.#services.get({ namespace, name })
    const existing = this.#mirroredOf(namespace, name)
    try {
      if (source && service && !service.spec?.selector && isMirrored(source)) await this.#mirror(key, source, existing)
      else await this.#removeAll(existing)
    } catch (error) {
      // The Endpoints, or their namespace, are being deleted.
      if (!isStatus(error, 'NotFound') && !isStatus(error, 'Forbidden')) throw error
    }
  }

  async #mirror(key: string, source: Endpoints, existing: EndpointSlice[]): Promise<void> {
    const plan = planMirror(source, existing)
    if (plan.skipped > 0) {
      const message = `A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. ${plan.skipped} addresses were skipped`
      this.#recorder.record({
        kind: 'Endpoints',
        regarding: source,
        type: 'Warning',
        reason: 'TooManyAddressesToMirror',
        message,
      })
    }
    for (const slice of source.metadata.deletionTimestamp ? [] : plan.create) {
      const { metadata } = await this.#client.create<EndpointSlice>(endpointSlices, slice)
      const isSeen = this.#slices.get({ namespace: metadata.namespace, name: metadata.name ?? '' }) !== undefined
      if (!isSeen) this.#expectations.expect(key, metadata.uid ?? '')
    }
    for (const slice of plan.update) await this.#client.update<EndpointSlice>(endpointSlices, slice)
    await this.#removeAll(plan.remove)
  }

  async #removeAll(list: readonly EndpointSlice[]): Promise<void> {
    for (const { metadata } of list) {
      await this.#client.delete(endpointSlices, { namespace: metadata.namespace, name: metadata.name ?? '' })
    }
  }

  /** The Endpoints of a service with a selector change with its pods; they have no mirrored slices. */
  #considerEndpoints({ metadata }: Endpoints): void {
    const service = this.#services.get({ namespace: metadata.namespace, name: metadata.name ?? '' })
    if (!service?.spec?.selector) this.#queue.add(keyOf(metadata))
  }

  #considerSlice({ metadata }: EndpointSlice): void {
    const name = metadata.labels?.[SERVICE_LABEL]
    if (!name || !isOurs(metadata)) return
    const key = `${metadata.namespace}/${name}`
    this.#expectations.seen(key, metadata.uid ?? '')
    this.#queue.add(key)
  }

  #considerService({ metadata, spec }: Service): void {
    if (!spec?.selector) this.#queue.add(keyOf(metadata))
  }
}

export const startEndpointSliceMirroring = (context: ControllerContext): Controller =>
  new EndpointSliceMirroring(context)

const keyOf = ({ namespace, name }: Service['metadata']): string => `${namespace}/${name}`

const isOurs = ({ labels }: EndpointSlice['metadata']): boolean => labels?.[MANAGED_BY_LABEL] === MIRROR_MANAGER
