import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { NetworkPlace, NodeNetwork, Served } from './node-network.ts'

export interface DatagramRelayOptions {
  network: Pick<NodeNetwork, 'bind' | 'place'>
  clock: Clock
}

export interface DatagramRelay extends Served {
  /** Ends the exchanges with other places than these. */
  keepOnly(places: readonly NetworkPlace[]): void
}

/** The kernel remembers an exchange of datagrams for as long. */
const IDLE_MS = 30_000
/** Each client has a socket; a datagram of one more is lost. */
const MAX_CLIENTS = 256
/** Bounds the datagrams that wait until the socket is open; more are lost. */
const MAX_WAITING = 16

/** Takes datagrams at a port of this machine, and passes on each client's by a socket in the network of a node. */
export async function serveDatagrams(
  options: DatagramRelayOptions,
  { host, port }: NetworkPlace,
  to: () => NetworkPlace,
): Promise<Served> {
  const outer = createSocket(isIPv6(host) ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' })
  outer.bind(port, host)
  await once(outer, 'listening')
  outer.unref()
  const relay = relayDatagrams(options, outer, to)
  return {
    close() {
      outer.close()
      relay.close()
    },
  }
}

/**
 * Passes on what comes to this socket, to the place that `to` names for the address of a new client; without one it is
 * lost. To close the socket is the caller's.
 */
export function relayDatagrams(
  options: DatagramRelayOptions,
  outer: Socket,
  to: (client: string) => NetworkPlace | undefined,
): DatagramRelay {
  const clients = new Map<string, Exchange>()
  outer.on('error', () => {})
  outer.on('message', (datagram, client) => {
    const key = `${client.address} ${client.port}`
    const exchange = clients.get(key) ?? begin(key, client)
    exchange?.send(datagram)
  })
  const begin = (key: string, client: RemoteInfo): Exchange | undefined => {
    const place = clients.size < MAX_CLIENTS ? to(client.address) : undefined
    if (!place) return undefined
    const exchange = new Exchange(options, { to: place, outer, client, onEnd: () => clients.delete(key) })
    clients.set(key, exchange)
    return exchange
  }
  return {
    keepOnly(places) {
      const kept = new Set(places.map(nameOf))
      for (const exchange of clients.values()) if (!kept.has(nameOf(exchange.to))) exchange.end()
    },
    close() {
      for (const exchange of clients.values()) exchange.end()
    },
  }
}

const nameOf = ({ host, port }: NetworkPlace): string => `${host}:${port}`

interface ExchangeOptions {
  to: NetworkPlace
  outer: Socket
  client: RemoteInfo
  onEnd(): void
}

/** Passes on the datagrams of one client, and back. It ends when none comes for a while, or the other end refuses. */
class Exchange {
  readonly to: NetworkPlace
  readonly #options: DatagramRelayOptions
  readonly #ends: ExchangeOptions
  readonly #waiting: Buffer[] = []
  #inner: Socket | undefined
  #served: Served | undefined
  #timer: Timer | undefined
  #isOver = false

  constructor(options: DatagramRelayOptions, ends: ExchangeOptions) {
    this.#options = options
    this.#ends = ends
    this.to = ends.to
    const { network } = options
    // The node's address, at a port that the kernel chooses.
    network
      .bind({ host: network.place?.node ?? '', port: 0 }, (socket) => this.#use(socket))
      .then(
        (served) => {
          this.#served = served
          if (this.#isOver) served.close()
        },
        () => this.end(),
      )
    this.#rest()
  }

  send(datagram: Buffer): void {
    this.#rest()
    if (this.#inner) this.#inner.send(datagram)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(datagram)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#timer?.cancel()
    this.#served?.close()
    this.#ends.onEnd()
  }

  #use(socket: Socket): void {
    const { to, outer, client } = this.#ends
    socket.on('error', () => this.end()).on('close', () => this.end())
    socket.on('message', (datagram) => {
      this.#rest()
      outer.send(datagram, client.port, client.address)
    })
    socket.connect(to.port, to.host, (error?: Error) => {
      if (error) return this.end()
      this.#inner = socket
      for (const datagram of this.#waiting.splice(0)) socket.send(datagram)
    })
  }

  #rest(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.machine.setTimer(IDLE_MS, () => this.end(), { background: true })
  }
}
