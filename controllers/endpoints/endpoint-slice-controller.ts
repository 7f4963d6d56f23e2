import { SERVICE_LABEL } from '../../shared/api/services/endpoint-slices.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { endpointSlices, services as servicesResource } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { Expectations } from '../workloads/expectations.ts'
import { followEndpointPods, podsOf, selectorOf } from './service-pods.ts'
import { MANAGED_BY_LABEL, MANAGER, planSlices } from './slices.ts'

/** Keeps the EndpointSlices of services. Upstream: pkg/controller/endpointslice. */
export function startEndpointSliceController(
  { client, informers, clock, log }: ControllerContext,
  terminatingEndpoints = true,
): Controller {
  const services = informers.whole<Service>(servicesResource)
  const slices = informers.whole<EndpointSlice>(endpointSlices)
  const pods = informers.pods()
  const nodes = informers.nodes()
  /** Slices that we have made and do not see yet: more would be made in their place. */
  const expectations = new Expectations(clock)

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const service = services.get({ namespace, name })
    if (!service) return expectations.forget(key)
    if (!selectorOf(service) || service.metadata.deletionTimestamp || !expectations.satisfied(key)) return
    const existing = slices
      .byIndex('controller', service.metadata.uid ?? '')
      .filter(({ metadata }) => metadata.labels?.[MANAGED_BY_LABEL] === MANAGER && !metadata.deletionTimestamp)
    const nodeOf = (nodeName: string) => nodes.get({ name: nodeName })
    const plan = planSlices({ service, pods: podsOf(service, pods), nodeOf, existing, terminatingEndpoints })
    try {
      for (const slice of plan.create) await create(key, slice)
      for (const slice of plan.update) await client.update<EndpointSlice>(endpointSlices, slice)
      for (const { metadata } of plan.remove) {
        await client.delete(endpointSlices, { namespace, name: metadata.name ?? '' })
      }
    } catch (error) {
      // The service, or its namespace, is going.
      if (!isStatus(error, 'NotFound') && !isStatus(error, 'Forbidden')) throw error
    }
  }

  async function create(key: string, slice: EndpointSlice): Promise<void> {
    const { metadata } = await client.create<EndpointSlice>(endpointSlices, slice)
    const isSeen = slices.get({ namespace: metadata.namespace, name: metadata.name ?? '' }) !== undefined
    if (!isSeen) expectations.expect(key, metadata.uid ?? '')
  }

  const queue = createLoopQueue(
    { clock, log, loop: 'endpointslice-controller', object: 'Service', concurrency: 5 },
    sync,
  )
  const consider = ({ metadata }: Service): void => queue.add(`${metadata.namespace}/${metadata.name}`)
  const considerSlice = ({ metadata }: EndpointSlice): void => {
    const name = metadata.labels?.[SERVICE_LABEL]
    if (!name || metadata.labels?.[MANAGED_BY_LABEL] !== MANAGER) return
    const key = `${metadata.namespace}/${name}`
    expectations.seen(key, metadata.uid ?? '')
    queue.add(key)
  }
  services.addHandler({ onAdd: consider, onUpdate: consider, onDelete: consider })
  slices.addHandler({ onAdd: considerSlice, onUpdate: considerSlice, onDelete: considerSlice })
  followEndpointPods(services, pods, consider)
  return { close: () => queue.close() }
}
