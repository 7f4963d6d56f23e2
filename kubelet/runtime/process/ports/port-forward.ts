import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Connects to a port of a pod. The pod's own address is asked first: a server that listens on all addresses is found
 * there as well; one that listens on localhost shares that with the machine.
 */
export async function connectToPod({ ip, port }: { ip: string; port: number }): Promise<Socket> {
  const problems: string[] = []
  for (const host of new Set([ip, '127.0.0.1', '::1'])) {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
    try {
      await once(socket, 'connect')
      return socket
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  throw new Error(`failed to connect to localhost:${port} inside the pod: ${problems.join('; ')}`)
}
