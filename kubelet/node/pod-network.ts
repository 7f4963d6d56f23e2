import { isIPv4 } from 'node:net'
import type { LostRequests } from '../../shared/api/termination.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodeReference } from '../events/event-recorder.ts'
import type { KubeletBase } from '../kubelet-base.ts'
import type { PodAddressing } from '../runtime/container-runtime.ts'
import { type ServedCluster, serveCluster } from './serve-cluster.ts'

/**
 * Says which addresses pods get, and whether the range is known yet, and serves the cluster in their network. Upstream:
 * the network plugin, which reads `spec.podCIDR`.
 */
export class PodNetwork {
  readonly #base: KubeletBase
  readonly #ready = Promise.withResolvers<void>()
  #cidr: string | undefined
  #waitsForNode = false
  #served: ServedCluster | undefined
  #problem: string | undefined = 'the API server has not been reached yet'

  constructor(base: KubeletBase) {
    this.#base = base
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

  /** The address at which pods find DNS, where it is served. */
  get dns(): string | undefined {
    return this.#served?.dns
  }

  /** Resolves to the connections that Services lost at the address of a pod that has ended. */
  async lostAt({ spec, status }: Pod): Promise<LostRequests[]> {
    return spec.hostNetwork ? [] : ((await this.#served?.lostAt(status?.podIP ?? '')) ?? [])
  }

  /** Resolves when all is decided that does not need the node. */
  async begin(): Promise<void> {
    const { podCidr = 'auto', isKubestage } = this.#base
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
    const { runtime } = this.#base
    try {
      const why = await runtime.usePodAddresses(addressing)
      if (why !== undefined) {
        this.#tellShared(addressing, why)
        await runtime.usePodAddresses('host')
      }
      this.#served?.close()
      this.#served = await this.#serve()
    } catch (error) {
      this.#problem = (error as Error).message
      return
    }
    this.#problem = undefined
    this.#ready.resolve()
  }

  async #serve(): Promise<ServedCluster | undefined> {
    const { apiServer: server, endpointLagMs = 0, events, nodeIP: host, port, runtime, tunnel } = this.#base
    const { network } = runtime
    if (!network || !server) return undefined
    return serveCluster({
      ...this.#base,
      network,
      server,
      tunnel: tunnel && { ...tunnel, at: { host, port } },
      endpointLagMs,
      onPodLimit: ({ namespace, name, podUid: uid }, message) =>
        events.event({ apiVersion: 'v1', kind: 'Pod', namespace, name, uid }, 'Warning', 'TooManyConnections', message),
    })
  }

  #tellShared(cidr: string, why: string): void {
    const { events, nodeName, warn } = this.#base
    const message = `Pods share the node's address, not one of ${cidr}: ${why}. Run "ip route add local ${cidr} dev lo" as root, and restart the kubelet`
    warn(undefined, message)
    events.event(nodeReference(nodeName), 'Warning', 'PodAddressesShared', message)
  }
}
