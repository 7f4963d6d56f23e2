import { isIPv4 } from 'node:net'
import type { Node } from '../../shared/api/types.ts'
import type { ContainerRuntime, PodAddressing } from '../runtime/container-runtime.ts'
import type { Served } from '../runtime/network/node-network.ts'

/**
 * `auto`: `node` on an API server that is not Kubestage's, since that refuses endpoints with loopback addresses; else
 * `loopback`. `node`: the node's `spec.podCIDR`. The others as in {@link PodAddressing}.
 */
export type PodCidr = 'auto' | 'node' | PodAddressing

export interface PodNetworkOptions {
  podCidr: PodCidr
  runtime: Pick<ContainerRuntime, 'usePodAddresses'>
  /** Resolves when the API server has answered; absent where it is known to be Kubestage's. */
  isKubestage?(): Promise<boolean>
  /** Serves what pods find at fixed addresses, as soon as there is a network; default: nothing. */
  serve?(): Promise<Served | undefined>
  /** Pods have to share the node's address, for this reason. */
  onShared(cidr: string, why: string): void
}

/**
 * Says which addresses pods get, and whether the range is known yet. Upstream: the network plugin, which reads
 * `spec.podCIDR`.
 */
export class PodNetwork {
  readonly #options: PodNetworkOptions
  readonly #ready = Promise.withResolvers<void>()
  #cidr: string | undefined
  #waitsForNode = false
  #served: Served | undefined
  #problem: string | undefined = 'the API server has not been reached yet'

  constructor(options: PodNetworkOptions) {
    this.#options = options
  }

  close(): void {
    this.#served?.close()
  }

  /** Resolves when pods can start. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /**
   * Says why no pod can start that needs an address of its own, as a kubelet reports it; undefined if pods can start.
   */
  get problem(): string | undefined {
    return (
      this.#problem &&
      `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: ${this.#problem}`
    )
  }

  /** Resolves when all is decided that does not need the node. */
  async begin(): Promise<void> {
    const { podCidr, isKubestage } = this.#options
    const wanted = podCidr === 'auto' ? ((await (isKubestage?.() ?? true)) ? 'loopback' : 'node') : podCidr
    if (wanted !== 'node') return this.#use(wanted)
    this.#waitsForNode = true
    this.#problem = 'the node has no spec.podCIDR; pass --pod-cidr to the kubelet where nothing sets it'
    if (this.#cidr) await this.#use(this.#cidr)
  }

  /** The node as the API has it. */
  async update({ spec }: Node): Promise<void> {
    const cidr = [...(spec?.podCIDRs ?? []), spec?.podCIDR ?? ''].find((range) => isIPv4(range.split('/')[0] ?? ''))
    if (!cidr || cidr === this.#cidr) return
    this.#cidr = cidr
    if (this.#waitsForNode) await this.#use(cidr)
  }

  async #use(addressing: PodAddressing): Promise<void> {
    const { runtime, serve, onShared } = this.#options
    try {
      const why = await runtime.usePodAddresses(addressing)
      if (why !== undefined) {
        onShared(addressing, why)
        await runtime.usePodAddresses('host')
      }
      this.#served = await serve?.()
    } catch (error) {
      this.#problem = (error as Error).message
      return
    }
    this.#problem = undefined
    this.#ready.resolve()
  }
}
