import type { Service } from '../../shared/api/types.ts'
import { services as servicesResource } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'

const message =
  'no cloud provider gives this Service an address, and status.loadBalancer stays empty; ' +
  'write an address there, or use kubectl port-forward'

/**
 * Says on each Service of type LoadBalancer that nothing gives it an address. In upstream this loop, of the cloud
 * controller manager, asks the cloud for one (k8s.io/cloud-provider/controllers/service).
 */
export function startServiceLoadBalancers(context: ControllerContext): Controller {
  const recorder = createEventRecorder({ ...context, component: 'service-controller' })
  const told = new Set<string>()
  const consider = ({ metadata, spec, status }: Service): void => {
    const uid = metadata.uid ?? ''
    const waits =
      spec?.type === 'LoadBalancer' && spec.loadBalancerClass === undefined && !status?.loadBalancer?.ingress
    if (!waits || told.has(uid)) return
    told.add(uid)
    recorder.record({ kind: 'Service', regarding: { metadata }, type: 'Warning', reason: 'NoLoadBalancer', message })
  }
  context.informers.whole<Service>(servicesResource).addHandler({
    onAdd: consider,
    onUpdate: consider,
    onDelete: ({ metadata }) => told.delete(metadata.uid ?? ''),
  })
  return { close: () => recorder.close() }
}
