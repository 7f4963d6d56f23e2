import { isDeepStrictEqual } from 'node:util'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { Endpoints } from '../../shared/api/workloads/workloads.ts'
import { endpoints as endpointsResource, services as servicesResource } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { followEndpointPods, podsOf, selectorOf } from './service-pods.ts'
import { endpointsLabels, subsetsOf } from './subsets.ts'

/** Keeps the Endpoints of services, the older form of EndpointSlices. Upstream: pkg/controller/endpoint. */
export function startEndpointsController({ client, informers, clock, log }: ControllerContext): Controller {
  const services = informers.whole<Service>(servicesResource)
  const endpoints = informers.whole<Endpoints>(endpointsResource)
  const pods = informers.pods()

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const ref = { namespace, name }
    const service = services.get(ref)
    const known = endpoints.get(ref)
    try {
      if (!service) {
        // A service that was deleted; this controller made its endpoints.
        if (known && isOurs(known)) await client.delete(endpointsResource, ref)
        return
      }
      if (!selectorOf(service)) return
      const subsets = subsetsOf(service, podsOf(service, pods))
      const labels = endpointsLabels(service)
      if (isDeepStrictEqual([known?.subsets ?? [], known?.metadata.labels], [subsets, labels])) return
      const metadata = known ? { ...known.metadata, labels } : { namespace, name, labels }
      const wanted = { metadata, ...(subsets.length > 0 && { subsets }) }
      if (known) await client.update<Endpoints>(endpointsResource, wanted)
      else await client.create<Endpoints>(endpointsResource, wanted)
    } catch (error) {
      // The service, or its namespace, is going.
      if (!isStatus(error, 'NotFound') && !isStatus(error, 'Forbidden')) throw error
    }
  }

  const queue = createLoopQueue({ clock, log, loop: 'endpoints-controller', object: 'Service', concurrency: 5 }, sync)
  const consider = ({ metadata }: { metadata: Service['metadata'] }): void =>
    queue.add(`${metadata.namespace}/${metadata.name}`)
  services.addHandler({ onAdd: consider, onUpdate: consider, onDelete: consider })
  endpoints.addHandler({ onAdd: consider, onDelete: consider })
  followEndpointPods(services, pods, consider)
  return { close: () => queue.close() }
}

const isOurs = ({ metadata }: Endpoints): boolean =>
  metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller'
