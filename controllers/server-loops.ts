import type { Client } from '../shared/client/client.ts'
import { bootstrap } from './bootstrap.ts'
import { ensureClusterInfo } from './bootstrap-tokens/cluster-info.ts'
import { ensureJoinPolicy } from './bootstrap-tokens/join-policy.ts'
import type { Controller, ControllerContext } from './controller.ts'
import { startFlowSchemaController } from './flow-schemas.ts'
import { startKubernetesService } from './kubernetes-service.ts'
import { startServerConfigMaps } from './server-config-maps.ts'
import { startServiceIPAddresses } from './service-ip-addresses.ts'

/** What an API server says of itself. */
export interface ServerFacts {
  /** CA of the client certificates that it accepts, in PEM. */
  clientCa: string
  /** What machines that join trust, in PEM. */
  rootCa: string
  /** URL of the API server for machines that join the cluster. */
  serverUrl: string
  /** Other servers run, one of which has said where; it is not overruled. */
  keepsServerUrl?: boolean
  /** Of the `kubernetes` Service. */
  securePort: number
  kubernetesServiceIP: string
  /** Where the server listens: the address in the Service's Endpoints. */
  host: string
  /**
   * Other servers have the same objects. Then the server itself makes an IPAddress before each Service that has it: a
   * loop would delete what is just taken.
   */
  isShared?: boolean
}

/** What every cluster has from its first moment; each server makes sure of it when it starts. */
export async function prepareCluster(client: Client, facts: ServerFacts, nowMs: number): Promise<void> {
  await bootstrap(client, { ...serviceOf(facts), clientCa: facts.clientCa, nowMs })
  const { serverUrl: url, rootCa: ca, keepsServerUrl: keepsUrl } = facts
  await Promise.all([ensureClusterInfo(client, { url, ca, keepsUrl }), ensureJoinPolicy(client)])
}

/** The loops that are part of an API server: upstream's run in kube-apiserver, and each of several runs its own. */
export const startServerLoops = (context: ControllerContext, facts: ServerFacts): Controller[] => [
  startFlowSchemaController(context),
  ...(facts.isShared ? [] : [startServiceIPAddresses(context)]),
  startServerConfigMaps(context, facts.clientCa),
  startKubernetesService(context, serviceOf(facts)),
]

const serviceOf = ({ securePort, kubernetesServiceIP, host, isShared }: ServerFacts) => ({
  securePort,
  clusterIP: kubernetesServiceIP,
  host,
  isShared,
})
