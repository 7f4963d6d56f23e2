import type { Socket } from 'node:net'
import { AddressRange } from '../../../shared/api/services/address-range.ts'
import { type PodAddressing, type PodSocket, type PortHolder, type Sandbox, StartError } from '../container-runtime.ts'
import type { PodNetworks } from './network/pod-networks.ts'
import { LocalRoute } from './ports/local-route.ts'
import { connectToPod } from './ports/port-forward.ts'
import type { PortOwners, PortOwnersOptions } from './ports/port-owners.ts'

export interface RuntimeNetworkOptions extends PortOwnersOptions {
  /** Gives pods a network of their own; absent where they share the machine's. */
  networks?: PodNetworks
}

/** Gives pods their addresses, in networks of their own or in the machine's, and finds what listens there. */
export class RuntimeNetwork {
  readonly #options: RuntimeNetworkOptions
  readonly #route: LocalRoute
  #owners: Promise<PortOwners> | undefined

  constructor(options: RuntimeNetworkOptions) {
    this.#options = options
    this.#route = new LocalRoute(options.root)
  }

  /** Resolves to the reason why pods cannot have such addresses; undefined: they have. */
  async use(addressing: PodAddressing): Promise<string | undefined> {
    const { networks, sandboxes } = this.#options
    if (networks) {
      sandboxes.use(addressing, await networks.use(new AddressRange(addressing)))
      return undefined
    }
    if (addressing !== 'loopback' && addressing !== 'host') {
      const problem = await this.#route.ensure(new AddressRange(addressing))
      if (problem) return problem
    }
    sandboxes.use(addressing)
    return undefined
  }

  /** Makes the pod's own network, where it has one. Rejects as a container that cannot start does. */
  async add(sandbox: Sandbox): Promise<void> {
    if (!sandbox.ownNetwork) return
    try {
      await this.#options.networks?.add(sandbox)
    } catch (error) {
      throw new StartError(`failed to setup network for sandbox "${sandbox.id}": ${(error as Error).message}`)
    }
  }

  connect(sandbox: Sandbox, port: number): Promise<Socket> {
    return connectToPod(sandbox, port, this.#options.networks)
  }

  /** Resolves to the programs outside of the pod that listen on these ports. */
  async holders(podUid: string, ports: ReadonlySet<number>): Promise<PortHolder[]> {
    return this.#isOwn(podUid) ? [] : (await this.#portOwners()).holders(podUid, ports)
  }

  /** Resolves to the program that answers there, if it is surely none of the pod. */
  async outsider(podUid: string, socket: PodSocket): Promise<PortHolder | undefined> {
    return this.#isOwn(podUid) ? undefined : (await this.#portOwners()).outsider(podUid, socket)
  }

  /** Closes the sockets in the networks. `isNeeded`: pods that still run keep the machine's route to their addresses. */
  async close({ isNeeded }: { isNeeded: boolean }): Promise<void> {
    if (!isNeeded) await this.#route.remove()
    this.#options.networks?.close()
  }

  #isOwn(podUid: string): boolean {
    return this.#options.sandboxes.ofPod(podUid).some(({ ownNetwork }) => ownNetwork)
  }

  /** Loaded by the first container that fails, or answers a probe. */
  #portOwners(): Promise<PortOwners> {
    this.#owners ??= import('./ports/port-owners.ts').then(({ PortOwners }) => new PortOwners(this.#options))
    return this.#owners
  }
}
