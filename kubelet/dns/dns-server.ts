import type { Socket } from 'node:net'
import type { Clock } from '../../shared/clock/clock.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { framed, messages } from './frames.ts'
import type { Resolver } from './resolver.ts'

export interface DnsServerOptions {
  network: Pick<NodeNetwork, 'bind' | 'listen'>
  clock: Clock
  host: string
  resolver: Pick<Resolver, 'answer' | 'cached'>
}

const PORT = 53
const IDLE_MS = 10_000
const MAX_CONNECTIONS = 256

/** Serves DNS at an address of the node, by UDP and by TCP. */
export async function serveDns({ network, clock, host, resolver }: DnsServerOptions): Promise<Served> {
  const datagrams = await network.bind({ host, port: PORT }, (socket) => {
    socket.on('message', (question, { port, address }) => {
      const known = resolver.cached(question, 'udp')
      if (known) return reply(() => socket.send(known, port, address))
      void resolver.answer(question, 'udp').then((answer) => answer && reply(() => socket.send(answer, port, address)))
    })
    socket.on('error', () => {})
  })
  const connections = new Set<Socket>()
  const servers = await network.listen({ host, port: PORT }, (socket) => {
    if (connections.size >= MAX_CONNECTIONS) return socket.destroy()
    connections.add(socket)
    socket.on('error', () => {}).on('close', () => connections.delete(socket))
    converse(socket, { clock, resolver }).catch(() => socket.destroy())
  })
  return {
    close() {
      datagrams.close()
      servers.close()
      for (const socket of connections) socket.destroy()
    },
  }
}

/** Answers one question after the other. A connection without a whole question for a while is closed. */
async function converse(socket: Socket, { clock, resolver }: Pick<DnsServerOptions, 'clock' | 'resolver'>) {
  const waiting = () => clock.machine.setTimer(IDLE_MS, () => socket.destroy(), { background: true })
  let timer = waiting()
  try {
    for await (const question of messages(socket)) {
      timer.cancel()
      const answer = resolver.cached(question, 'tcp') ?? (await resolver.answer(question, 'tcp'))
      if (!answer) break
      socket.write(framed(answer))
      timer = waiting()
    }
    socket.end()
  } finally {
    timer.cancel()
  }
}

/** The socket may have been closed with its network while the answer was sought. */
function reply(send: () => void): void {
  try {
    send()
  } catch {}
}
