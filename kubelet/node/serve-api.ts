import { connect } from 'node:net'
import { pipeline } from 'node:stream'
import type { Service } from '../../shared/api/types.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'

/**
 * Serves the API server to pods at the address of its Service, as kube-proxy does: what they send there is passed on to
 * `server`.
 */
export async function serveApi(network: NodeNetwork, { spec }: Service, server: URL): Promise<Served> {
  const at = { host: spec?.clusterIP ?? '', port: spec?.ports?.[0]?.port ?? 443 }
  const to = { host: server.hostname.replace(/^\[|\]$/g, ''), port: Number(server.port) || 443, allowHalfOpen: true }
  return network.listen(at, (socket) => {
    const passed = connect(to)
    pipeline(socket, passed, socket, () => {})
  })
}
