/** Adds what a server needs where other servers have the same objects. Loaded only there. */

import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { ApiServerConfig } from '../config.ts'
import type { ObjectCaches } from '../registry/index.ts'
import type { Storage } from '../storage/engine.ts'
import { ServiceClaims } from './allocation/service-claims.ts'
import { freshClient } from './fresh-client.ts'
import { type CurrentDefinitions, freshness as freshnessOf } from './freshness.ts'
import { ServerLease } from './server-lease.ts'
import { SharedDeletionRequests } from './shared-deletion-requests.ts'
import { sharedKey } from './shared-key.ts'

interface Parts {
  objects: ObjectCaches
  customResources: CurrentDefinitions
}

/**
 * Every server has the same issuer, so that a token from one server is valid at the others. kubeadm sets the same
 * value.
 */
export { serviceUrl as issuer } from '../../shared/pki/cluster-pki.ts'

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

export const freshness = ({ objects, customResources }: Parts) =>
  freshnessOf({
    storage: objects.storage as Storage & Required<Pick<Storage, 'catchUp' | 'revision'>>,
    catalog: objects.catalog,
    customResources,
  })
