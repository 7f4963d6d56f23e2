import type { AcceptedWebSocket } from './negotiation.ts'
import { encodeStatus } from './remote-status.ts'
import { parseSizes, type RemoteStreams, type WantedStreams } from './remote-streams.ts'
import { WebSocketChannels } from './websocket-channels.ts'

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 }

/** Subprotocols of exec and attach over WebSocket, with the version of the streams' protocol. */
export const remoteCommandProtocols: Readonly<Record<string, { version: number; base64: boolean }>> = {
  'v5.channel.k8s.io': { version: 5, base64: false },
  'v4.channel.k8s.io': { version: 4, base64: false },
  'v4.base64.channel.k8s.io': { version: 4, base64: true },
  'channel.k8s.io': { version: 1, base64: false },
  'base64.channel.k8s.io': { version: 1, base64: true },
  '': { version: 1, base64: false },
}

export function webSocketRemoteStreams({ socket, protocol }: AcceptedWebSocket, wanted: WantedStreams): RemoteStreams {
  const { version, base64 } = remoteCommandProtocols[protocol]!
  const wire = new WebSocketChannels(socket, { base64 })
  const hasErrors = wanted.stderr && !wanted.tty
  const lowest = wanted.stdout ? channels.stdout : hasErrors ? channels.stderr : channels.error
  wire.send(lowest, Buffer.alloc(0))
  // From the beginning, since the first size comes at once.
  const sizes = wanted.tty ? wire.input(channels.resize) : undefined
  return {
    ...(wanted.stdin && { stdin: wire.input(channels.stdin) }),
    ...(wanted.stdout && { stdout: wire.output(channels.stdout) }),
    ...(hasErrors && { stderr: wire.output(channels.stderr) }),
    gone: wire.gone,
    onResize: (listener) =>
      sizes?.on('data', (data: Buffer) => {
        for (const size of parseSizes(data.toString())) listener(size)
      }),
    finish(status) {
      if (wire.gone.aborted) return
      const text = encodeStatus(status, version)
      if (text !== '') wire.send(channels.error, Buffer.from(text))
      wire.close()
    },
  }
}
