import { connect, type Socket } from 'node:net'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import type { NetworkPlace, NodeNetwork } from '../runtime/network/node-network.ts'

type Nodes = Pick<ContainerRuntime, 'network'>

/** The node's network, if the address lies in it; otherwise this machine reaches it. */
export const networkFor = ({ network }: Nodes, host: string): NodeNetwork | undefined =>
  network?.has(host) ? network : undefined

/** Longer than any probe may take; a hook's own time is up before. */
export const LONGEST_MS = 3_600_000

/** Connects as the node does. Calls back once, unless the returned function was called before, which closes it. */
export function dial(
  runtime: Nodes,
  { host, port, timeoutMs = LONGEST_MS }: NetworkPlace & { timeoutMs?: number },
  done: (error?: NodeJS.ErrnoException) => void,
): () => void {
  const network = networkFor(runtime, host)
  if (!network) {
    const socket = connect({ host, port })
    socket.once('connect', () => done()).once('error', done)
    return () => socket.destroy()
  }
  let isClosed = false
  let opened: Socket | undefined
  network.connect({ host, port, timeoutMs }).then((socket) => {
    opened = socket
    if (isClosed) socket.destroy()
    else done()
  }, done)
  return () => {
    isClosed = true
    opened?.destroy()
  }
}
