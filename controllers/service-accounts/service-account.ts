import type { ServiceAccount } from '../../shared/api/types.ts'
import { serviceAccounts } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { startNamespacePublisher } from './namespace-publisher.ts'

/** The ServiceAccount `default` in every namespace: pods that name none run as it. */
export function startServiceAccountController(context: ControllerContext): Controller {
  return startNamespacePublisher<ServiceAccount>(context, {
    resource: serviceAccounts,
    name: 'default',
    desired: (namespace) => ({ metadata: { name: 'default', namespace } }),
    upToDate: () => true,
  })
}
