import type { Socket as DatagramSocket } from 'node:dgram'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import path from 'node:path'
import { isOfNetwork } from '../../../../shared/api/pods/safe-sysctls.ts'
import { AddressRange } from '../../../../shared/api/services/address-range.ts'
import type { Clock } from '../../../../shared/clock/clock.ts'
import type { Sandbox } from '../../container-runtime.ts'
import {
  type Flow,
  type NetworkedPod,
  type NetworkPlace,
  type NodeNetwork,
  type NodePlace,
  type RefusedPort,
  type Relayed,
  type Served,
  TAKEN,
  type Tunnel,
} from '../../network/node-network.ts'
import type { ShimConnection } from '../shim/connection.ts'
import { Door } from './door.ts'
import { HostPorts } from './host-ports.ts'
import { forwardFrom, linkName, ownerOf, whyNoLink, whyNoServices } from './machine-link.ts'
import { meetNeighbours, wordsOf } from './neighbours.ts'

export interface PodNetworksOptions {
  /** The folder of the runtime; the link to the machine is named after it. */
  root: string
  clock: Clock
  shim(): ShimConnection
  warn(message: string): void
  /** Names the folder in which nodes of this machine find each other; absent: there are none. */
  neighbours?: string
}

/** The shim's name for the node's own network; those of pods have the names of their sandboxes. */
const NODE = 'node'

interface Kept {
  verb: 'listen' | 'bind'
  at: NetworkPlace
  isForOthers?: true
  use(handle: Server | DatagramSocket): void
  handle?: Server | DatagramSocket
}

/**
 * Networks of pods, with that of the node, to which their bridge belongs. The shim holds their namespaces, so that they
 * outlive the kubelet and vanish with it. A door builds in them; it is opened by the first that needs it.
 */
export class PodNetworks implements NodeNetwork {
  readonly #options: PodNetworksOptions
  readonly pods = new Map<string, NetworkedPod>()
  readonly #kept = new Set<Kept>()
  readonly #hostPorts: HostPorts
  #range: AddressRange | undefined
  #door: Promise<Door> | undefined
  #why: string | undefined
  #lists = 0
  readonly #rules = new Map<string, string>()
  #relayed: string | undefined
  #onOpened: () => void = () => {}
  #prepare: (pod: NetworkedPod) => Promise<void> = async () => {}
  #services: { range: AddressRange; owner: number } | undefined

  constructor(options: PodNetworksOptions) {
    this.#options = options
    this.#hostPorts = new HostPorts({ network: this, clock: options.clock })
  }

  get place(): NodePlace | undefined {
    const range = this.#range
    return range && { node: range.at(0), machine: machineAddress(range), range: range.cidr }
  }

  get refusedPorts(): readonly RefusedPort[] {
    return this.#hostPorts.refused
  }

  /** Opens the door, which takes a while, before the range of addresses is known. */
  prepare(): void {
    this.#open().catch(() => {}) // told to the first that needs it
  }

  /** Builds the bridge of pods with addresses of this range. Resolves to those that no pod may have. */
  async use(range: AddressRange): Promise<string[]> {
    this.#range = range
    const opened = this.#door
    if (opened) await this.#build(await opened)
    else await this.#open()
    return [range.at(0), machineAddress(range)]
  }

  async add(sandbox: Sandbox): Promise<void> {
    const { id, ip, sysctls = [] } = sandbox
    const range = this.#range
    if (!range) throw new Error('the range of addresses is not known yet')
    const [door, file] = await Promise.all([this.#open(), this.#options.shim().network(id)])
    const settings = sysctls
      .filter(({ name }) => isOfNetwork(name))
      .map(({ name, value }) => `${name.replaceAll('.', '/')}=${value}`)
    await door.build('pod', file, ip, range.at(0), ...settings)
    this.pods.set(ip, sandbox)
    await this.#prepare(sandbox)
    await this.#hostPorts.open(sandbox)
  }

  keep(sandbox: Sandbox): void {
    this.pods.set(sandbox.ip, sandbox)
    this.#hostPorts.open(sandbox).catch((error: Error) => {
      this.#options.warn(`a host port of pod ${sandbox.namespace}/${sandbox.name} is not served: ${error.message}`)
    })
  }

  /** The pod's network goes, when its last process has. */
  remove({ id, ip }: Sandbox): void {
    this.pods.delete(ip)
    this.#hostPorts.close(id)
    this.#options.shim().forget(id)
  }

  has(address: string): boolean {
    return this.pods.has(address) || this.#range?.indexOf(address) !== undefined
  }

  async connect({ host, port, timeoutMs, podSandbox }: Parameters<NodeNetwork['connect']>[0]): Promise<Socket> {
    const within = podSandbox ? [await this.#options.shim().network(podSandbox)] : []
    const door = await this.#open()
    return door.socket('connect', [host, port, timeoutMs, ...within], timeoutMs + MARGIN_MS)
  }

  async listen(at: NetworkPlace, onConnection: (socket: Socket) => void): Promise<Served> {
    return this.#serve({ verb: 'listen', at, use: serving(onConnection) })
  }

  async take(at: NetworkPlace, onConnection: (socket: Socket) => void): Promise<Served> {
    return this.#serve({ verb: 'listen', at, isForOthers: true, use: serving(onConnection) })
  }

  async bind(at: NetworkPlace, onSocket: (socket: DatagramSocket) => void): Promise<Served> {
    return this.#serve({ verb: 'bind', at, use: (socket) => onSocket(socket as DatagramSocket) })
  }

  async routeServices(range: string, cluster: string): Promise<string | undefined> {
    this.#services = { range: new AddressRange(range), owner: ownerOf(cluster) }
    return this.#route(await this.#open())
  }

  beforeStart(prepare: (pod: NetworkedPod) => Promise<void>): void {
    this.#prepare = prepare
  }

  onOpened(act: () => void): void {
    this.#onOpened = act
  }

  async useTunnel({ at, device, peers }: Tunnel): Promise<void> {
    const { place } = this
    if (!place) throw new Error('the range of addresses is not known yet')
    const file = path.join(this.#options.root, 'tunnel')
    const others = peers.map(({ range, at }) => [...wordsOf(range), at.host, at.port])
    const lines = [[place.node, at.host, at.port, device], ...others]
    await writeFile(file, lines.map((words) => `${words.join(' ')}\n`).join(''), { mode: 0o600 })
    await (await this.#open()).build('tunnel', file)
  }

  async useRules(name: string, commands: string): Promise<void> {
    const door = await this.#open()
    this.#rules.set(name, commands)
    try {
      await this.#rule(door, name)
    } catch (error) {
      // The next network would not be opened either.
      if (this.#rules.get(name) === commands) this.#rules.delete(name)
      throw error
    }
  }

  async forgetStale(flows: readonly Flow[]): Promise<void> {
    const file = path.join(this.#options.root, 'stale')
    const lines = flows.map(({ at, ends }) => [at, ...ends].map(({ host, port }) => `${host}:${port}`).join(' '))
    await writeFile(file, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
    await (await this.#open()).build('forget', file)
  }

  async relay({ ports, gone }: Relayed): Promise<void> {
    const lines = ports.map(({ at, ends, affinitySeconds = 0 }) =>
      [at.host, at.port, affinitySeconds, ...ends.map(({ host, port }) => `${host}:${port}`)].join(' '),
    )
    const door = await this.#open()
    this.#relayed = [gone.join(' '), ...lines, ''].join('\n')
    await this.#relay(door)
  }

  async hasSctp(): Promise<boolean> {
    return (await this.#open()).build('sctp').then(
      () => true,
      () => false,
    )
  }

  listLost(): Promise<string> {
    return this.#list('lost')
  }

  listSets(): Promise<string> {
    return this.#list('sets')
  }

  async #list(what: 'sets' | 'lost'): Promise<string> {
    // A name of its own: another list may be under way.
    const file = path.join(this.#options.root, `${what}-${++this.#lists}`)
    try {
      await (await this.#open()).build(what, file)
      return await readFile(file, 'utf8')
    } finally {
      await rm(file, { force: true })
    }
  }

  /**
   * Lets go of the networks: an open socket would keep that of a node whose shim has ended. The next request opens
   * those that the shim has then.
   */
  close(): void {
    this.pods.clear()
    this.#hostPorts.closeAll()
    this.#door?.then(endDoor).catch(() => {})
    this.#door = undefined
    for (const kept of this.#kept) {
      kept.handle?.close()
      kept.handle = undefined
    }
  }

  #open(): Promise<Door> {
    if (this.#door) return this.#door
    const opening = this.#enter()
    this.#door = opening
    opening.catch(() => {
      if (this.#door === opening) this.#door = undefined
    })
    return opening
  }

  async #enter(): Promise<Door> {
    const { clock, shim } = this.#options
    await this.#removeLists()
    const file = await shim().network(NODE)
    const door: Door = new Door(file, {
      clock,
      onEnd: () => this.#hasEnded(door),
    })
    try {
      await this.#build(door)
      for (const name of this.#rules.keys()) await this.#rule(door, name)
      if (this.#relayed !== undefined) await this.#relay(door)
      for (const kept of this.#kept) if (!kept.handle) await this.#make(door, kept)
    } catch (error) {
      door.close()
      throw error
    }
    this.#onOpened()
    return door
  }

  /** A kubelet that was killed while it read a list has left it. */
  async #removeLists(): Promise<void> {
    const { root } = this.#options
    const lists = (await readdir(root).catch(() => [])).filter((name) => /^(sets|lost)-\d+$/.test(name))
    for (const name of lists) await rm(path.join(root, name), { force: true })
  }

  /** There may be a later one. */
  #hasEnded(door: Door): void {
    const known = this.#door
    known
      ?.then((current) => {
        if (current === door && this.#door === known) this.#door = undefined
      })
      .catch(() => {})
  }

  async #build(door: Door): Promise<void> {
    const range = this.#range
    if (!range) return
    await door.build('bridge', range.at(0), range.bits)
    const name = linkName(this.#options.root)
    const why = whyNoLink(range, name) ?? (await linkMachine(door, name, range))
    if (why && why !== this.#why)
      this.#options.warn(`this machine reaches pods only by kubectl and the kubelet, not at their addresses: ${why}`)
    this.#why = why
    await this.#route(door)
    const { neighbours, shim } = this.#options
    if (neighbours) await meetNeighbours(door, neighbours, { file: await shim().network(NODE), range })
  }

  async #route(door: Door): Promise<string | undefined> {
    const { place } = this
    if (!this.#services || !place || this.#why) return this.#why
    const { range, owner } = this.#services
    const why = whyNoServices(range, owner)
    if (why) return why
    const [network = ''] = range.cidr.split('/')
    const name = linkName(this.#options.root)
    const made = door.build('services', name, network, range.bits, place.node, place.machine, owner)
    return made.then(
      () => undefined,
      ({ message }: Error) => message,
    )
  }

  async #rule(door: Door, name: string): Promise<void> {
    const file = path.join(this.#options.root, `${name}.nft`)
    await writeFile(file, this.#rules.get(name) ?? '', { mode: 0o600 })
    await door.build('rules', file)
  }

  async #relay(door: Door): Promise<void> {
    const file = path.join(this.#options.root, 'relayed')
    await writeFile(file, this.#relayed ?? '', { mode: 0o600 })
    await door.build('serve', file)
  }

  async #serve(kept: Kept): Promise<Served> {
    await this.#make(await this.#open(), kept)
    this.#kept.add(kept)
    return {
      close: () => {
        this.#kept.delete(kept)
        kept.handle?.close()
      },
    }
  }

  async #make(door: Door, kept: Kept): Promise<void> {
    const { verb, at, isForOthers, use } = kept
    if (isForOthers) await door.build('marked', TAKEN)
    if (this.#range?.indexOf(at.host) === undefined) await door.build('address', at.host)
    kept.handle = await door.socket(verb, [at.host, at.port, ...(isForOthers ? ['others'] : [])])
    kept.handle.unref()
    use(kept.handle)
  }
}

/** Connections that are still open keep a network that is lost, and with it the tunnel's port of the machine. */
async function endDoor(door: Door): Promise<void> {
  await door.build('tunnel', '/dev/null').catch(() => {})
  door.close()
}

const serving =
  (onConnection: (socket: Socket) => void) =>
  (server: Server | DatagramSocket): void => {
    server.on('connection', onConnection)
  }

/** The door tells of a timeout itself. */
const MARGIN_MS = 1_000

/** The bridge has the first address, and the machine the last. */
const machineAddress = (range: AddressRange): string => range.at(range.size - 1)

async function linkMachine(door: Door, name: string, range: AddressRange): Promise<string | undefined> {
  try {
    const [network = ''] = range.cidr.split('/')
    await door.build('link', name, machineAddress(range), network, range.bits, range.at(0))
    forwardFrom(name)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
