import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ConfigMap, Secret, Service } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { startInformer } from '../../shared/client/informer.ts'
import { configMaps, secrets, services } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { MachineFacts } from '../node/machine.ts'
import type { EnvironmentSources } from '../pod/environment-sources.ts'
import { timeVariables } from '../pod/time-variables.ts'
import { EnvironmentError } from './environment.ts'

export interface EnvironmentSourcesOptions {
  client: Client
  clock: Clock
  nodeIP: string
  apiServer: URL | undefined
  servesCluster: boolean
  machine: MachineFacts
  onError(error: unknown): void
}
export interface LiveEnvironmentSources extends EnvironmentSources {
  synced(): Promise<void>
  close(): Promise<void>
}

/** Services are watched, as every pod needs them; config maps and secrets are read when a container starts. */
export function createEnvironmentSources(options: EnvironmentSourcesOptions): LiveEnvironmentSources {
  const { client, clock, machine, nodeIP, apiServer, servesCluster, onError } = options
  const informer = startInformer<Service>({
    client,
    clock,
    resource: services,
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ''] },
    onError,
  })
  const read = <T extends object>(resource: Resource, namespace: string, name: string): Promise<T | undefined> =>
    client.get<T>(resource, { namespace, name }).catch(ignoreNotFound)
  return {
    hostIP: nodeIP,
    ...(apiServer && { apiServer }),
    servesCluster,
    time: ({ spec }) => timeVariables(clock, spec.terminationGracePeriodSeconds ?? 0),
    configMap: (namespace, name) => read<ConfigMap>(configMaps, namespace, name),
    secret: (namespace, name) => read<Secret>(secrets, namespace, name),
    services(namespace) {
      if (informer.hasSynced()) return informer.byIndex('namespace', namespace)
      throw new EnvironmentError('services have not yet been read at least once, cannot construct envvars')
    },
    allocatable: () => ({
      cpu: String(machine.cpus),
      memory: String(machine.memoryBytes),
      'ephemeral-storage': String(machine.diskBytes),
    }),
    synced: () => informer.synced(),
    close: () => informer.close(),
  }
}
