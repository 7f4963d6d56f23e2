import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { isOfNetwork } from '../../../../shared/api/pods/safe-sysctls.ts'
import { AddressRange } from '../../../../shared/api/services/address-range.ts'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { withinLimit } from '../../../../shared/clock/within-limit.ts'
import {
  type PodAddressing,
  type Sandbox,
  type SandboxConfig,
  StartError,
  type Sysctl,
} from '../../container-runtime.ts'
import { PodAddresses } from '../../pod-addresses.ts'
import { sendSignal } from '../../signals.ts'
import { shimLaunch } from '../launch/launch.ts'
import { pause } from '../launch/pause.ts'
import type { PodNetworks } from '../network/pod-networks.ts'
import { newId } from '../new-id.ts'
import type { RecordStore } from '../record-store.ts'
import { notStarted, startFailure, startTimeoutMs } from '../runtime-errors.ts'
import type { ShimConnection } from '../shim/connection.ts'
import type { PodUsers } from './pod-users.ts'

/**
 * The pods' sandboxes: a record and an address each, and where its containers share their processes, a process that is
 * their first.
 */
export class Sandboxes {
  readonly #store: RecordStore
  readonly #clock: Clock
  readonly #nodeIP: string
  readonly #shares: boolean
  readonly #networks: PodNetworks | undefined
  readonly #shim: () => ShimConnection
  readonly #users: PodUsers | undefined
  /** Gives addresses to pods; undefined if they have the node's. */
  #addresses: PodAddresses | undefined
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #byPod = new Map<string, Set<string>>()
  readonly #pauses = new Map<string, PromiseWithResolvers<number>>()

  constructor(options: {
    store: RecordStore
    clock: Clock
    nodeIP: string
    /** Containers can share a PID namespace. */
    shares: boolean
    networks?: PodNetworks
    users?: PodUsers
    shim: () => ShimConnection
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#nodeIP = options.nodeIP
    this.#shares = options.shares
    this.#networks = options.networks
    this.#users = options.users
    this.#shim = options.shim
    for (const sandbox of this.#store.sandboxes()) {
      this.#index(sandbox)
      if (sandbox.firstUser !== undefined && sandbox.state === 'ready') this.#users?.keep(sandbox.firstUser)
    }
    this.use('loopback')
  }

  /** Sets the addressing of new sandboxes. Existing sandboxes keep their addresses. */
  use(addressing: PodAddressing, reserved: readonly string[] = []): void {
    const digest = createHash('sha256').update(`${hostname()}${this.#store.root}`).digest()
    // The second number differs from node to node (64 … 127), so that nodes of one machine do not meet.
    const cidr = addressing === 'loopback' ? `127.${64 + (digest.readUInt8(0) % 64)}.0.0/16` : addressing
    const shared = addressing === 'host' || (addressing === 'loopback' && process.platform !== 'linux')
    this.#addresses = shared ? undefined : new PodAddresses(new AddressRange(cidr), digest.readUInt16BE(1))
    for (const { hostNetwork, state, ip } of this.#sandboxes.values())
      if (!hostNetwork && state === 'ready') this.#addresses?.keep(ip)
    for (const address of reserved) this.#addresses?.reserve(address)
  }

  /** Ends those that have a network of their own where others get none, or the reverse; their pods begin again. */
  endOthers(): void {
    for (const sandbox of this.#sandboxes.values()) {
      if (sandbox.state !== 'ready' || sandbox.hostNetwork) continue
      if (sandbox.ownNetwork !== (this.#networks ? true : undefined)) this.stop(sandbox)
      else if (sandbox.ownNetwork) this.#networks?.keep(sandbox)
    }
  }

  get(id: string): Sandbox | undefined {
    return this.#sandboxes.get(id)
  }
  all(): IterableIterator<Sandbox> {
    return this.#sandboxes.values()
  }

  ofPod(podUid: string): Sandbox[] {
    return [...(this.#byPod.get(podUid) ?? [])].flatMap((id) => this.#sandboxes.get(id) ?? [])
  }

  add(config: SandboxConfig): Sandbox {
    const sandbox: Sandbox = {
      ...config,
      id: newId(),
      ip: (config.hostNetwork ? undefined : this.#addresses?.take()) ?? this.#nodeIP,
      state: 'ready',
      createdAtMs: this.#clock.now(),
      ...(this.#networks && !config.hostNetwork && { ownNetwork: true }),
      ...(this.#users && config.ownUsers && { firstUser: this.#users.take() }),
    }
    this.#keep(sandbox)
    return sandbox
  }

  /** Starts the process that holds namespaces of the pod, if it has any. */
  startPause(sandbox: Sandbox): void {
    if (!this.#hasPause(sandbox)) return
    const { id } = sandbox
    const sysctls = sysctlsOfIpc(sandbox)
    const launch = shimLaunch(pause(this.#store.root, { id, sysctls, sharesProcesses: this.#sharesProcesses(sandbox) }))
    this.#shim().run({ id, containerId: id, hasInput: false, separateErrors: false, ...networkOf(sandbox), ...launch })
  }

  /**
   * Resolves to the process that holds the namespaces that the pod's containers share; undefined when they share none.
   * Rejects with a StartError when it could not be started in time.
   */
  async pausePid(sandbox: Sandbox): Promise<number | undefined> {
    if (!this.#hasPause(sandbox)) return undefined
    const { promise } = this.#pause(sandbox.id)
    if (await withinLimit(promise, startTimeoutMs, this.#clock.machine)) return promise
    throw new StartError(startFailure(notStarted))
  }

  pauseHasStarted(id: string, pid: number): void {
    if (this.#sandboxes.has(id)) this.#pause(id).resolve(pid)
  }
  pauseHasFailed(id: string, why: string): void {
    if (this.#sandboxes.has(id)) this.#pause(id).reject(new StartError(startFailure(why)))
  }
  /** Ends the sandbox: without the pause process those of the pod are gone, and no others can be started. */
  pauseHasExited(id: string): void {
    const sandbox = this.#sandboxes.get(id)
    if (sandbox) this.#pause(id).reject(new StartError(startFailure('the pod has no process 1')))
    if (sandbox?.state === 'ready') this.stop(sandbox)
  }
  /** Ends every sandbox whose pause process the shim does not know. */
  pausesAreLost(known: (id: string) => boolean): void {
    for (const sandbox of this.#sandboxes.values())
      if (this.#hasPause(sandbox) && !known(sandbox.id)) this.pauseHasExited(sandbox.id)
  }

  /** Ends all sandboxes, because their processes and their network are gone. */
  areLost(): void {
    for (const sandbox of this.#sandboxes.values()) {
      if (this.#hasPause(sandbox)) this.pauseHasExited(sandbox.id)
      else if (sandbox.state === 'ready') this.stop(sandbox)
    }
  }

  /** Stops a sandbox. Its address becomes free for another. */
  stop(sandbox: Sandbox): void {
    this.#keep({ ...sandbox, state: 'notReady' })
    this.#pauses.get(sandbox.id)?.promise.then(
      (pid) => sendSignal(pid, 'SIGKILL'),
      () => {},
    )
    if (!sandbox.hostNetwork) this.#addresses?.give(sandbox.ip)
    if (sandbox.ownNetwork) this.#networks?.remove(sandbox)
    if (sandbox.firstUser !== undefined) this.#users?.give(sandbox.firstUser)
  }

  forget(id: string): void {
    const podUid = this.#sandboxes.get(id)?.podUid ?? ''
    const others = this.#byPod.get(podUid)
    others?.delete(id)
    if (others?.size === 0) this.#byPod.delete(podUid)
    this.#sandboxes.delete(id)
    this.#pauses.delete(id)
    this.#shim().forget(id)
    this.#store.remove(id)
  }

  #hasPause(sandbox: Sandbox): boolean {
    return this.#sharesProcesses(sandbox) || sysctlsOfIpc(sandbox).length > 0
  }

  #sharesProcesses({ shareProcessNamespace, hostPID }: Sandbox): boolean {
    return this.#shares && shareProcessNamespace && !hostPID
  }

  #pause(id: string): PromiseWithResolvers<number> {
    const known = this.#pauses.get(id)
    if (known) return known
    const pause = Promise.withResolvers<number>()
    pause.promise.catch(() => {}) // reported when a container is started
    this.#pauses.set(id, pause)
    return pause
  }

  #keep(sandbox: Sandbox): void {
    this.#store.saveSandbox(sandbox)
    this.#index(sandbox)
  }

  #index(sandbox: Sandbox): void {
    this.#sandboxes.set(sandbox.id, sandbox)
    const others = this.#byPod.get(sandbox.podUid)
    if (others) others.add(sandbox.id)
    else this.#byPod.set(sandbox.podUid, new Set([sandbox.id]))
  }
}

/** Says in which network the pod's processes run. */
export const networkOf = ({ id, ownNetwork }: Sandbox): { networkOf?: string } => (ownNetwork ? { networkOf: id } : {})

/** Parameters of the network are set with it. */
const sysctlsOfIpc = ({ sysctls = [] }: Sandbox): Sysctl[] => sysctls.filter(({ name }) => !isOfNetwork(name))
