import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { internalError } from '../../../shared/api/status/status-errors.ts'
import type { Upgrade } from '../../../shared/http/upgrades.ts'
import type { Exchange } from '../exchange.ts'
import { errorOf } from '../proxy/kubelet-proxy.ts'
import { acceptWebSocket, asksForWebSocket } from '../streams/accept-websocket.ts'
import type { Refusal } from '../streams/join.ts'

const protocol = 'v5.channel.k8s.io'
const channels = { stdout: 1, stderr: 2, error: 3 }

/** kubectl's protocol of exec and attach, of which a real server accepts the WebSocket before it asks the kubelet. */
export const isTranslated = (exchange: Exchange): boolean =>
  asksForWebSocket(exchange) && protocolsOf(exchange).includes(protocol)

const protocolsOf = ({ request }: Exchange): string[] =>
  (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())

export interface TranslatedStream {
  upgrade: Upgrade
  /** Says whether the client wants the output, and the errors. */
  output: boolean
  error: boolean
  /** Holds the kubelet's URL. */
  url: string
}

/**
 * Accepts the WebSocket, and says in its error channel why there is no stream. Upstream:
 * apiserver/pkg/util/proxy/streamtranslator.go.
 */
export async function refuseTranslated(
  exchange: Exchange,
  refusal: Refusal,
  { upgrade, output, error, url }: TranslatedStream,
): Promise<void> {
  const { kind: _, apiVersion: __, ...status } = (await reasonOf(refusal, url)).status
  const socket = await acceptWebSocket(exchange, upgrade, protocol)
  const lowest = output ? channels.stdout : error ? channels.stderr : channels.error
  socket.send(Buffer.from([lowest]))
  socket.send(Buffer.concat([Buffer.from([channels.error]), Buffer.from(JSON.stringify(status))]))
  socket.close(1000)
}

async function reasonOf(refusal: Refusal, url: string): Promise<StatusError> {
  if ('unreachable' in refusal)
    return internalError(`error sending request: Post ${JSON.stringify(url)}: ${refusal.unreachable}`)
  const said = await errorOf(refusal.answer)
  return typeof said === 'string' ? internalError(`unable to upgrade connection: ${said}`) : said
}
