import type { ConfigMap, Pod, Secret, Service } from '../../shared/api/types.ts'
import type { NodeAllocatable } from './field-values.ts'

/** Provides the values of environment variables. */
export interface EnvironmentSources {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>
  secret(namespace: string, name: string): Promise<Secret | undefined>
  /** Variables that tell of the services of a namespace. */
  services(namespace: string): Iterable<Service>
  /**
   * Where the API server is, for clients in containers; without it they are told of the `kubernetes` service's address.
   */
  apiServer?: URL
  /** Pods reach the address of the `kubernetes` service, unless they share the machine's network. */
  servesCluster: boolean
  allocatable(): NodeAllocatable
  hostIP: string
  /** Returns the variables that a program needs to know about a clock that is not its own. */
  time(pod: Pod): Record<string, string>
}
