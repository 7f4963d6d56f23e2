import type { Service } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { dialOut, passOn } from '../runtime/network/pass-on.ts'

const CONNECT_MS = 30_000

/**
 * Serves the API server to pods at the address of its Service, as kube-proxy does: what they send there is passed on to
 * `server`.
 */
export async function serveApi(
  { network, clock, server }: { network: NodeNetwork; clock: Clock; server: URL },
  { spec }: Service,
): Promise<Served> {
  const at = { host: spec?.clusterIP ?? '', port: spec?.ports?.[0]?.port ?? 443 }
  const to = { host: server.hostname.replace(/^\[|\]$/g, ''), port: Number(server.port) || 443 }
  return network.listen(at, (socket) => void passOn(socket, dialOut(to, { clock, timeoutMs: CONNECT_MS })))
}
