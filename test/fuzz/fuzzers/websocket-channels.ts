/** Messages of a WebSocket for exec, attach and port-forward: what has no channel is dropped, and nothing else ends. */
import { EventEmitter } from 'node:events'
import type { WebSocket } from 'ws'
import { WebSocketChannels } from '../../../kubelet/http/streaming/websocket-channels.ts'
import type { Fuzzer } from '../fuzzer.ts'

class Socket extends EventEmitter {
  send(_message: unknown, _options: unknown, sent: (error?: Error) => void): void {
    sent()
  }
  pause(): void {}
  resume(): void {}
  close(): void {}
}

export const websocketChannels: Fuzzer = {
  name: 'WebSocket messages',
  attempts: 3_000,
  start: () => ({
    async attempt(random) {
      const socket = new Socket()
      const channels = new WebSocketChannels(socket as unknown as WebSocket, { base64: random.chance(0.5) })
      let received = 0
      for (const channel of [0, 1, 4]) channels.input(channel).on('data', (data: Buffer) => (received += data.length))
      let sent = 0
      for (const message of random.times(20, () => random.bytes(30))) {
        if (random.chance(0.5)) message[0] = random.pick([0, 1, 4, 48, 52, 255])
        sent += message.length
        socket.emit('message', message, random.chance(0.5))
        if (random.chance(0.1)) channels.endInput(random.below(5))
      }
      if (random.chance(0.5)) socket.emit('close')
      await new Promise((resolve) => setImmediate(resolve))
      if (received > sent) throw new Error(`${received} bytes received of ${sent}`)
    },
  }),
}
