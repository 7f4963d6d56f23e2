import type { Auditor } from '../apiserver/audit/auditor.ts'
import type { ApiServerConfig } from '../apiserver/config.ts'
import type { Instruments } from '../apiserver/http/api-context.ts'
import { limitsOf } from '../apiserver/http/limits/limits.ts'
import { kubeletCredentials } from '../apiserver/http/proxy/kubelet-proxy.ts'
import type { User } from '../apiserver/kind/user.ts'
import { type ApiServer, startApiServer } from '../apiserver/server.ts'
import type { Client } from '../shared/client/client.ts'
import { readInputText } from '../shared/config/input.ts'
import { ConfigError } from '../shared/config/option.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'
import { urlOf } from './addresses.ts'
import { electionFor, startLoops } from './control-loops.ts'
import type { ControlPlaneOptions } from './control-plane-options.ts'
import { openStore } from './open-store.ts'

export interface ControlPlane {
  url: string
  /** Names the address of this server alone; the same as `url` if no other server listens there. */
  ownUrl: string
  port: number
  /** Reads and writes as an administrator, without the network. */
  client: Client
  /** Returns a client that acts as the kubelet of a node, without the network. */
  nodeClient(nodeName: string): Client
  instruments: Instruments
  /** Answers a request without the network; by default as an administrator. */
  inject(request: InjectedRequest, user?: Pick<User, 'name' | 'groups'>): Promise<InjectedAnswer>
  /** Resolves to what happens, as lines of a record. */
  record: ApiServer['record']
  close(): Promise<void>
}

const admin: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }

const nodeUser = (name: string): User => ({
  name: `system:node:${name}`,
  groups: ['system:nodes', 'system:authenticated'],
})

/** Starts an API server and its control loops in this process. Rejects with nothing left running. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { host } = options
  const election = await electionFor(options)
  const auditor = await auditorFor(options)
  const storage = await openStore(options)
  const server = await startApiServer({ ...configOf(options), storage, auditor }).catch(async (error) => {
    await storage.close()
    throw error
  })
  try {
    const loops = await startLoops(options, { server, storage, election })
    await server.instruments.snapshots.markStart()
    return {
      url: urlOf(host, server.port),
      ownUrl: urlOf(host, server.ownPort ?? server.port),
      port: server.port,
      client: server.adminClient(),
      nodeClient: (name) => server.client(nodeUser(name)),
      instruments: server.instruments,
      inject: (request, user = admin) => server.inject(user, request),
      record: () => server.record(),
      async close() {
        await loops.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

function configOf(options: ControlPlaneOptions): ApiServerConfig {
  const { host, port, ownPort, http2, plugins, journal, pki, clock, log } = options
  const { kubernetesVersion, serviceAccountIssuer, serviceCidr, featureGates, corsAllowedOrigins } = options
  return {
    host,
    port,
    ownPort,
    http2,
    tls: { cert: pki.apiServer.cert, key: pki.apiServer.key, clientCa: pki.ca.cert },
    kubeletClient: kubeletCredentials(pki, authorityIn(options.kubeletCertificateAuthority)),
    frontProxyClient: () => pki.frontProxyClient,
    serviceAccountKey: pki.serviceAccountKey,
    serviceAccountIssuer,
    serviceCidr,
    kubernetesVersion,
    featureGates,
    corsAllowedOrigins,
    limits: limitsOf(options),
    ...keptTerminations(options),
    disabledAdmissionPlugins: options.controllers === false ? ['ServiceAccount'] : [],
    journal,
    plugins,
    clock,
    log,
  }
}

/** Returns undefined where nothing is recorded: the code of audit logs is then not loaded. */
async function auditorFor({ auditPolicyFile, ...options }: ControlPlaneOptions): Promise<Auditor | undefined> {
  if (!auditPolicyFile) return undefined
  return (await import('../apiserver/audit/auditor.ts')).auditorOf({ auditPolicyFile, ...options }, options)
}

function authorityIn(file = ''): string | undefined {
  if (!file) return undefined
  try {
    return readInputText(file)
  } catch (error) {
    throw new ConfigError(`--kubelet-certificate-authority: ${(error as Error).message}`)
  }
}

/** Keeps records longer in a file or etcd, where they outlive restarts; in any case they are in memory, too. */
function keptTerminations({ terminationTtl = -1, storage }: ControlPlaneOptions) {
  const isDurable = storage !== undefined && storage.engine !== 'memory'
  const defaultMs = isDurable ? 7 * 24 * 3_600_000 : 3_600_000
  return {
    terminationTtlMs: terminationTtl < 0 ? defaultMs : terminationTtl,
    maxTerminations: isDurable ? 10_000 : 2_000,
  }
}
