import type { AcceptedWebSocket } from './negotiation.ts'
import { forwardProblem, type PortForwardTarget } from './port-forward.ts'
import { WebSocketChannels } from './websocket-channels.ts'

/** Defines the subprotocols of port-forward over WebSocket without SPDY inside. */
export const portForwardProtocols: Readonly<Record<string, { base64: boolean }>> = {
  'v4.channel.k8s.io': { base64: false },
  'v4.base64.channel.k8s.io': { base64: true },
}

/**
 * Opens one connection for each port: channel 2i carries its data, channel 2i+1 its errors, and both begin with the
 * port's number.
 */
export function serveWebSocketPortForward(
  { socket, protocol }: AcceptedWebSocket,
  ports: number[],
  target: PortForwardTarget,
): void {
  const wire = new WebSocketChannels(socket, portForwardProtocols[protocol]!)
  for (const [index, port] of ports.entries()) {
    const [dataChannel, errorChannel] = [2 * index, 2 * index + 1]
    const number = Buffer.alloc(2)
    number.writeUInt16LE(port)
    for (const channel of [dataChannel, errorChannel]) wire.send(channel, number)
    const input = wire.input(dataChannel)
    target.connect(port).then(
      (connection) => {
        const stop = () => connection.destroy()
        if (wire.gone.aborted) stop()
        else wire.gone.addEventListener('abort', stop, { once: true })
        connection.on('error', stop)
        input.pipe(connection)
        connection.pipe(wire.output(dataChannel))
      },
      (error: Error) =>
        wire.send(errorChannel, Buffer.from(forwardProblem({ port, describe: target.describe }, error))),
    )
  }
}
