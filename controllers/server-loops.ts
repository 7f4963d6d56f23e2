import type { Client } from '../shared/client/client.ts'
import { ensureClusterInfo } from './bootstrap-tokens/cluster-info.ts'
import { ensureJoinPolicy } from './bootstrap-tokens/join-policy.ts'
import type { Controller, ControllerContext } from './controller.ts'
import { bootstrap } from './server-objects/bootstrap.ts'
import { startFlowSchemaController } from './server-objects/flow-schemas.ts'
import { startKubernetesService } from './server-objects/kubernetes-service.ts'
import { startServerConfigMaps } from './server-objects/server-config-maps.ts'
import { startServiceIPAddresses } from './services/service-ip-addresses.ts'

/** Holds what an API server publishes about itself. */
export interface ServerFacts {
  /** CA of the client certificates that it accepts, in PEM. */
  clientCa: string
  /** Holds the CA of the certificate that the server shows to servers of APIServices, in PEM. */
  requestHeaderCa: string
  /** CA that joining machines trust, in PEM. */
  rootCa: string
  /** URL of the API server for machines that join the cluster. */
  serverUrl: string
  /** Keeps a URL that another server has published. */
  keepsServerUrl?: boolean
  /** Sets the port of the `kubernetes` Service. */
  securePort: number
  kubernetesServiceIP: string
  /** Address that the server listens at: the address in the Service's Endpoints. */
  host: string
  /**
   * Other servers have the same objects. The server itself then creates an IPAddress before each Service that uses it,
   * because a loop would delete an address that was just allocated.
   */
  isShared?: boolean
}

/** Creates what every cluster has from the start. Every server calls this when it starts. */
export async function prepareCluster(client: Client, facts: ServerFacts, nowMs: number): Promise<void> {
  await bootstrap(client, { ...serviceOf(facts), ...authoritiesOf(facts), nowMs })
  const { serverUrl: url, rootCa: ca, keepsServerUrl: keepsUrl } = facts
  await Promise.all([ensureClusterInfo(client, { url, ca, keepsUrl }), ensureJoinPolicy(client)])
}

/** The loops that are part of an API server: upstream's run in kube-apiserver, and each of several runs its own. */
export const startServerLoops = (context: ControllerContext, facts: ServerFacts): Controller[] => [
  startFlowSchemaController(context),
  ...(facts.isShared ? [] : [startServiceIPAddresses(context)]),
  startServerConfigMaps(context, authoritiesOf(facts)),
  startKubernetesService(context, serviceOf(facts)),
]

const authoritiesOf = ({ clientCa, requestHeaderCa }: ServerFacts) => ({ clientCa, requestHeaderCa })

const serviceOf = ({ securePort, kubernetesServiceIP, host, isShared }: ServerFacts) => ({
  securePort,
  clusterIP: kubernetesServiceIP,
  host,
  isShared,
})
