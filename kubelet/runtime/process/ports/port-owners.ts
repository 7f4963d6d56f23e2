import type { PodSocket, PortHolder } from '../../container-runtime.ts'
import type { Container } from '../containers/container.ts'
import type { Containers } from '../containers/containers.ts'
import type { Sandboxes } from '../containers/sandboxes.ts'
import { marker, markerOf, variableOf } from '../marker.ts'
import { answeringAt, familyOf, holdsAny, listenersOn, ownersOf, programOf } from './listeners.ts'

export interface PortOwnersOptions {
  /** The folder of the runtime's records; it is part of the marker of its processes. */
  root: string
  containers: Containers
  sandboxes: Sandboxes
  /** Pods of this address share it. */
  nodeIP: string
}

/** Outsiders that are remembered. */
const MAX_KNOWN = 1_000

/** Finds the programs that listen on the machine's ports, as a pod sees them. */
export class PortOwners {
  readonly #options: PortOwnersOptions
  /** Remembers which other program answers at a socket of a pod, since a pod is probed every few seconds. */
  readonly #known = new Map<string, PortHolder>()

  constructor(options: PortOwnersOptions) {
    this.#options = options
  }

  /** The programs outside the pod that listen on these ports. Walks through /proc if there is any. */
  holders(podUid: string, ports: ReadonlySet<number>): PortHolder[] {
    const own = this.#marksOf(podUid)
    return listenersOn(ports)
      .filter(({ pid }) => pid === undefined || !own.has(markerOf(pid)))
      .map((holder) => this.#named(holder))
  }

  /**
   * The program that answers there, if it is surely none of the pod. Without a walk through /proc, a listener is the
   * pod's own if it is at the pod's own address, or a socket of its containers' processes.
   */
  outsider(podUid: string, { ip, port }: PodSocket): PortHolder | undefined {
    const running = this.#runningIn(podUid)
    const inodes = new Set<string>()
    let address = ''
    for (const socket of answeringAt(ip, port)) {
      if (socket.address === ip && ip !== this.#options.nodeIP) return undefined
      const known = this.#known.get(`${podUid} ${socket.inode}`)
      if (known) return known
      const inode = new Set([socket.inode])
      if (running.some(({ record }) => familyOf(record.pid).some((pid) => holdsAny(pid, inode)))) return undefined
      inodes.add(socket.inode)
      address ||= socket.address
    }
    const own = this.#marksOf(podUid)
    const owners = [...ownersOf(inodes)]
    const [first] = owners
    const isSure = owners.length === inodes.size && owners.every(([, pid]) => !own.has(markerOf(pid)))
    if (!first || !isSure) return undefined
    const [inode, pid] = first
    const holder = this.#named({ port, address, pid, program: programOf(pid) })
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(`${podUid} ${inode}`, holder)
    return holder
  }

  /** Adds the pod that the process belongs to, if any. */
  #named(holder: PortHolder): PortHolder {
    const mark = holder.pid === undefined ? undefined : markerOf(holder.pid)
    if (mark === undefined) return holder
    const container = [...this.#options.containers.all()].find(({ stored }) => this.#markOf(stored.id) === mark)
    const sandbox = container && this.#options.sandboxes.get(container.stored.sandboxId)
    if (sandbox) return { ...holder, pod: `${sandbox.namespace}/${sandbox.name}` }
    return { ...holder, podIP: variableOf(holder.pid!, 'KUBESTAGE_POD_IP') }
  }

  #runningIn = (podUid: string): Container[] =>
    [...this.#options.containers.all()].filter(({ record }) => record.podUid === podUid && record.state === 'running')

  #marksOf(podUid: string): Set<string | undefined> {
    const own = [...this.#options.containers.all()].filter(({ record }) => record.podUid === podUid)
    return new Set(own.map(({ stored }) => this.#markOf(stored.id)))
  }

  #markOf = (containerId: string): string => marker(this.#options.root, containerId)
}
