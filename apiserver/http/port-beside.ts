import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'

export interface PortBeside {
  port: number
  /** Resolves when none of its connections is left. */
  close(): Promise<void>
}

/** Listens at a further port; the server takes the connections as if they had come to its own. */
export async function listenBeside(server: Server, place: { host: string; port: number }): Promise<PortBeside> {
  const beside = createServer({ noDelay: true }, (socket) => server.emit('connection', socket))
  await once(beside.listen(place), 'listening')
  return {
    port: (beside.address() as AddressInfo).port,
    close: () => new Promise((resolve) => void beside.close(() => resolve())),
  }
}
