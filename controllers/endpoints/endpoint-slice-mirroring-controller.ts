import { isStatus } from '../../shared/api/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads.ts'
import {
  endpointSlices,
  endpoints as endpointsResource,
  services as servicesResource,
} from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { Expectations } from '../workloads/expectations.ts'
import { isMirrored, MIRROR_MANAGER, planMirror } from './mirrored-slices.ts'
import { MANAGED_BY_LABEL, SERVICE_LABEL } from './slices.ts'

/** Mirrors the Endpoints of services without a selector into EndpointSlices. Upstream: pkg/controller/endpointslicemirroring. */
export function startEndpointSliceMirroring({ client, informers, clock, log }: ControllerContext): Controller {
  const services = informers.whole<Service>(servicesResource)
  const endpoints = informers.whole<Endpoints>(endpointsResource)
  const slices = informers.whole<EndpointSlice>(endpointSlices)
  const recorder = createEventRecorder({ client, clock, log, component: 'endpoint-slice-mirroring-controller' })
  /** Slices that were made and are not seen yet. */
  const expectations = new Expectations(clock)

  const mirroredOf = (namespace: string, name: string): EndpointSlice[] =>
    slices
      .byIndex('namespace', namespace)
      .filter(({ metadata }) => isOurs(metadata) && metadata.labels?.[SERVICE_LABEL] === name)

  async function sync(key: string): Promise<void> {
    if (!expectations.satisfied(key)) return
    const [namespace = '', name = ''] = key.split('/')
    const source = endpoints.get({ namespace, name })
    const service = services.get({ namespace, name })
    const existing = mirroredOf(namespace, name)
    try {
      if (source && service && !service.spec?.selector && isMirrored(source)) await mirror(key, source, existing)
      else await removeAll(existing)
    } catch (error) {
      // The Endpoints, or their namespace, are being deleted.
      if (!isStatus(error, 'NotFound') && !isStatus(error, 'Forbidden')) throw error
    }
  }

  async function mirror(key: string, source: Endpoints, existing: EndpointSlice[]): Promise<void> {
    const plan = planMirror(source, existing)
    if (plan.skipped > 0) {
      const message = `A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. ${plan.skipped} addresses were skipped`
      recorder.record({
        kind: 'Endpoints',
        regarding: source,
        type: 'Warning',
        reason: 'TooManyAddressesToMirror',
        message,
      })
    }
    for (const slice of source.metadata.deletionTimestamp ? [] : plan.create) {
      const { metadata } = await client.create<EndpointSlice>(endpointSlices, slice)
      const isSeen = slices.get({ namespace: metadata.namespace, name: metadata.name ?? '' }) !== undefined
      if (!isSeen) expectations.expect(key, metadata.uid ?? '')
    }
    for (const slice of plan.update) await client.update<EndpointSlice>(endpointSlices, slice)
    await removeAll(plan.remove)
  }

  async function removeAll(list: readonly EndpointSlice[]): Promise<void> {
    for (const { metadata } of list) {
      await client.delete(endpointSlices, { namespace: metadata.namespace, name: metadata.name ?? '' })
    }
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 5,
    work: sync,
    onError: (error, service) => log.debug({ err: error, service }, 'endpoints will be mirrored again'),
  })
  const keyOf = ({ namespace, name }: Service['metadata']): string => `${namespace}/${name}`
  /** The Endpoints of a service with a selector change with its pods; they have no mirrored slices. */
  const considerEndpoints = ({ metadata }: Endpoints): void => {
    const service = services.get({ namespace: metadata.namespace, name: metadata.name ?? '' })
    if (!service?.spec?.selector) queue.add(keyOf(metadata))
  }
  const considerSlice = ({ metadata }: EndpointSlice): void => {
    const name = metadata.labels?.[SERVICE_LABEL]
    if (!name || !isOurs(metadata)) return
    const key = `${metadata.namespace}/${name}`
    expectations.seen(key, metadata.uid ?? '')
    queue.add(key)
  }
  const considerService = ({ metadata, spec }: Service): void => {
    if (!spec?.selector) queue.add(keyOf(metadata))
  }
  endpoints.addHandler({ onAdd: considerEndpoints, onUpdate: considerEndpoints, onDelete: considerEndpoints })
  slices.addHandler({ onAdd: considerSlice, onUpdate: considerSlice, onDelete: considerSlice })
  services.addHandler({
    onAdd: considerService,
    onUpdate(service, old) {
      const changed = (service.spec?.selector === undefined) !== (old.spec?.selector === undefined)
      if (changed) queue.add(keyOf(service.metadata))
    },
    onDelete: considerService,
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}

const isOurs = ({ labels }: EndpointSlice['metadata']): boolean => labels?.[MANAGED_BY_LABEL] === MIRROR_MANAGER
