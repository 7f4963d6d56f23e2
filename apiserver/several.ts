/** What a server needs besides where other servers have the same objects. Loaded only there. */

import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { ServiceClaims } from './allocation/service-claims.ts'
import type { CustomResources } from './apiextensions/custom-resources.ts'
import { ServerLease } from './bootstrap/server-lease.ts'
import { sharedKey } from './bootstrap/shared-key.ts'
import type { ApiServerConfig } from './config.ts'
import { freshClient } from './fresh-client.ts'
import { freshness as freshnessOf } from './http/hooks/freshness.ts'
import type { Step } from './http/hooks/step.ts'
import type { ObjectCaches } from './registry/object-caches.ts'
import { SharedDeletionRequests } from './registry/shared-deletion-requests.ts'
import type { Storage } from './storage/storage.ts'

interface Parts {
  objects: ObjectCaches
  customResources: CustomResources
}

/**
 * Every server has the same issuer, so that a token from one server is valid at the others. kubeadm sets the same
 * value.
 */
export const issuer = 'https://kubernetes.default.svc.cluster.local'

export const adjusted = async (config: ApiServerConfig, storage: Storage): Promise<ApiServerConfig> => ({
  ...config,
  serviceAccountKey: await sharedKey(storage, config.serviceAccountKey),
})

export const serverLease = (options: ConstructorParameters<typeof ServerLease>[0]): ServerLease =>
  new ServerLease(options)

export const serviceClaims = (options: ConstructorParameters<typeof ServiceClaims>[0]): ServiceClaims =>
  new ServiceClaims(options)

/** A client that sees what other servers have acknowledged. */
export const fresh = (client: Client, storage: Storage): Client =>
  freshClient(client, { catchUp: () => storage.catchUp!() })

export const deletionRequests = (storage: Storage, clock: Clock): SharedDeletionRequests =>
  new SharedDeletionRequests(storage, clock)

export const freshness = ({ objects, customResources }: Parts): Step =>
  freshnessOf({
    storage: objects.storage as Storage & Required<Pick<Storage, 'catchUp' | 'revision'>>,
    catalog: objects.catalog,
    customResources,
  })
