import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Sandbox } from '../../container-runtime.ts'
import type { NodeNetwork } from '../../network/node-network.ts'

/**
 * Connects to a port of a pod. Where pods share the machine's network, the pod's own address is asked first: a server
 * that listens on all addresses is found there as well; one that listens on localhost shares that with the machine.
 */
export async function connectToPod(
  { id, ip, ownNetwork }: Sandbox,
  port: number,
  network?: NodeNetwork,
): Promise<Socket> {
  const problems: string[] = []
  for (const host of new Set([...(ownNetwork ? [] : [ip]), '127.0.0.1', '::1'])) {
    try {
      if (!ownNetwork || !network) return await connectOnMachine(host, port)
      const socket = await network.connect({ host, port, timeoutMs: CONNECT_MS, podSandbox: id })
      socket.allowHalfOpen = true
      return socket
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  throw new Error(`failed to connect to localhost:${port} inside the pod: ${problems.join('; ')}`)
}

/** Limits a connection to the pod's own localhost, which answers at once or not at all. */
const CONNECT_MS = 5_000

async function connectOnMachine(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect')
  return socket
}
