import { connect } from 'node:net'
import { pipeline } from 'node:stream'
import { ignoreNotFound } from '../../shared/api/status-error.ts'
import type { Service } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { services } from '../../shared/client/resources.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'

/**
 * Serves the API server to pods at the address of the `kubernetes` Service, as kube-proxy does: what they send there is
 * passed on to `server`. Undefined where there is no such Service.
 */
export async function serveApi(network: NodeNetwork, client: Client, server: URL): Promise<Served | undefined> {
  const service = await client
    .get<Service>(services, { namespace: 'default', name: 'kubernetes' })
    .catch(ignoreNotFound)
  const { clusterIP, ports: [first] = [] } = service?.spec ?? {}
  if (!clusterIP || clusterIP === 'None' || !first) return undefined
  const to = { host: server.hostname.replace(/^\[|\]$/g, ''), port: Number(server.port) || 443, allowHalfOpen: true }
  return network.listen({ host: clusterIP, port: first.port }, (socket) => {
    const passed = connect(to)
    pipeline(socket, passed, socket, () => {})
  })
}
