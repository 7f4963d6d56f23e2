import type { ConfigMap } from '../../shared/api/types.ts'
import { configMaps } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { startNamespacePublisher } from './namespace-publisher.ts'

const NAME = 'kube-root-ca.crt'
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** The ConfigMap `kube-root-ca.crt` in every namespace: with it pods verify the API server. */
export function startRootCaCertPublisher(context: ControllerContext, caCert: string): Controller {
  return startNamespacePublisher<ConfigMap>(context, {
    resource: configMaps,
    name: NAME,
    desired: (namespace) => ({
      metadata: { name: NAME, namespace, annotations: { 'kubernetes.io/description': DESCRIPTION } },
      data: { 'ca.crt': caCert },
    }),
    upToDate: ({ data }) => data?.['ca.crt'] === caCert && Object.keys(data).length === 1,
  })
}
