import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { Namespace, ObjectMeta } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { namespaces } from '../../shared/client/resources.ts'
import { ensureKubernetesService, type KubernetesServiceOptions } from './kubernetes-service.ts'
import { type Authorities, ensureServerConfigMaps } from './server-config-maps.ts'

const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

export interface BootstrapOptions extends KubernetesServiceOptions, Authorities {
  nowMs: number
}

/**
 * Ensures what every cluster has from the start: the system namespaces, the `kubernetes` Service, which leads to the
 * server's port, and the ConfigMaps that describe the server.
 */
export async function bootstrap(client: Client, options: BootstrapOptions): Promise<void> {
  for (const name of SYSTEM_NAMESPACES) await ensure<Namespace>(client, namespaces, { metadata: { name } })
  await Promise.all([ensureKubernetesService(client, options), ensureServerConfigMaps(client, options)])
}

/**
 * Returns the existing object of that name, or else creates it. Succeeds if another server creates it at the same time.
 */
export async function ensure<T extends { metadata: ObjectMeta }>(
  client: Client,
  resource: Resource,
  object: T,
): Promise<T> {
  const { namespace, name = '' } = object.metadata
  const known = await client.get<T>(resource, { namespace, name }).catch(ignoreNotFound)
  if (known) return known
  return client.create<T>(resource, object).catch((error: unknown) => {
    if (isStatus(error, 'AlreadyExists')) return client.get<T>(resource, { namespace, name })
    throw error
  })
}
