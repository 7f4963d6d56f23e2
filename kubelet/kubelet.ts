import type { Node, Pod } from '../shared/api/types.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import { forbiddenSysctl } from './admission/sysctls.ts'
import { createKillPodNow } from './ending/kill-pod-now.ts'
import type { KillOptions } from './ending/pod-state-machine.ts'
import { nodeReference } from './events/event-recorder.ts'
import { type EvictionConfig, EvictionManager } from './eviction/eviction-manager.ts'
import { machineSignals } from './eviction/machine-signals.ts'
import { createPodMeter } from './eviction/measure-pods.ts'
import { ImageGarbage } from './images/garbage/image-garbage.ts'
import { type KubeletBase, kubeletBase } from './kubelet-base.ts'
import type { KubeletOptions } from './kubelet-options.ts'
import { NodeControls } from './node/node-controls.ts'
import { type NodeFacts, NodeRegistration } from './node/node-registration.ts'
import { PodNetwork } from './node/pod-network.ts'
import { twoGroups } from './node/shutdown.ts'
import { NodePods } from './node-pods.ts'
import type { AdmitHandler } from './pod/rejection.ts'
import { type PodsGround, podsGround } from './pods/pod-lifecycle.ts'
import { reportContainerLimits } from './report-container-limits.ts'
import { hasPodNetworks } from './runtime/pod-networks.ts'

const neverEvict: EvictionConfig = {
  thresholds: [],
  measured: new Set(),
  maxPodGracePeriodSeconds: 0,
  pressureTransitionPeriodMs: 0,
}

/** The node's first status waits this long for the API server's version. */
const networkMs = 2_000

export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const base = await kubeletBase(options)
  const network = new PodNetwork(base)
  const ground = await podsGround({ ...base, dnsServer: () => network.dns })
  await withinLimit(network.begin(), networkMs, options.clock.machine)
  return new Kubelet(base, network, ground)
}

/** Puts the parts together: the API's pods in, processes and statuses out. */
export class Kubelet {
  /** Resolves when the node is registered and the first pods are known. */
  readonly ready: Promise<void>
  readonly controls: NodeControls
  readonly eviction: EvictionManager
  readonly #base: KubeletBase
  readonly #network: PodNetwork
  readonly #garbage: ImageGarbage | undefined
  readonly #node: NodeRegistration
  readonly #pods: NodePods
  readonly #stopReports: () => void

  constructor(base: KubeletBase, network: PodNetwork, ground: PodsGround) {
    this.#base = base
    this.#network = network
    const { clock, events, images, metrics, rootDir, runtime, warn } = base
    // The node's parts ask for its pods, and the pods ask whether the node takes them: all is made before either does.
    const pods = (): Iterable<Pod> => this.#pods.active()
    const kill = (pod: Pod, how: KillOptions): Promise<void> => this.#pods.kill(pod, how)
    this.controls = new NodeControls({
      ...base,
      groups: base.shutdownGroups ?? twoGroups(0, 0),
      pods,
      kill,
      updateNode: () => this.#node.update(),
      flush: (limitMs) => this.#pods.flush(limitMs),
    })
    this.#garbage = images && new ImageGarbage(base, images, pods)
    this.eviction = new EvictionManager({
      ...base,
      config: base.eviction ?? neverEvict,
      activePods: pods,
      observe: base.observe ?? (() => machineSignals(rootDir, images?.folder)),
      usageOf: createPodMeter({ runtime, volumePath: (pod, volume) => this.#pods.volumePath(pod, volume) }),
      kill: createKillPodNow({ clock, events, kill }),
      reclaim: (signal) => this.#garbage?.reclaim(signal),
      onEvicted: (signal) => metrics.evicted(signal),
      onChange: () => void this.#node.update(),
      onError: (error) => warn(error, 'what the node has left could not be measured'),
    })
    if (network.problem) void network.ready.then(() => this.#networkIsReady())
    events.event(nodeReference(base.nodeName), 'Normal', 'Starting', 'Starting kubelet.')
    this.#node = new NodeRegistration({
      base,
      facts: () => this.#facts(),
      onSeen: (node, isNew) => this.#nodeSeen(node, isNew),
    })
    const sysctls = forbiddenSysctl({
      sharesNetwork: base.podFiles && !hasPodNetworks(runtime),
      sharesIpc: !runtime.ownIpc,
      allowed: base.allowedUnsafeSysctls,
    })
    const admitHandlers: AdmitHandler[] = [(pod) => this.eviction.admit(pod), sysctls, () => this.controls.admit()]
    this.#pods = new NodePods({ base, ground, network, node: this.#node, admitHandlers })
    const podOf = (uid: string): Pod | undefined => [...this.pods()].find(({ metadata }) => metadata.uid === uid)
    this.#stopReports = base.limits ? reportContainerLimits({ ...base, limits: base.limits, podOf }) : () => {}
    this.ready = Promise.all([this.#node.registered, this.#pods.synced()]).then(() => this.#pods.endOrphans())
    this.ready.catch((error) => warn(error, 'the kubelet did not get ready'))
  }

  /** Lists the pods with our own newest status of each, which may be ahead of the API's. */
  pods(): Iterable<Pod> {
    return this.#pods.list()
  }

  /** True while the node is lost or shut down. */
  isLost(): boolean {
    return this.#base.uplink.isCut
  }

  /** Ends all pods, by their priority and within their time, and tells why. */
  shutdown(): Promise<void> {
    return this.controls.endPods()
  }

  /** Stops looking after the node; what runs goes on and is found again by the next kubelet. */
  async close(): Promise<void> {
    this.#base.uplink.close()
    this.#network.close()
    this.eviction.close()
    this.#garbage?.close()
    this.#stopReports()
    await Promise.all([this.#node.close(), this.#pods.close()])
    await this.#pods.flush()
  }

  #facts(): NodeFacts {
    const { machine, maxPods = 110, nodeIP, nodeLabels, nodeName, port, runtime, seenImages } = this.#base
    const problems = [runtime.problem?.(), this.#network.problem, ...this.controls.problems()]
    return {
      name: nodeName,
      nodeIP,
      port,
      machine: { ...machine, bootId: runtime.bootId() ?? machine.bootId },
      maxPods,
      runtimeVersion: runtime.version,
      pressure: this.eviction.pressure(),
      problems: problems.filter((problem) => problem !== undefined),
      labels: nodeLabels,
      images: seenImages.shown,
    }
  }

  #networkIsReady(): void {
    this.#pods.syncAll()
    void this.#node.update()
  }

  #nodeSeen(node: Node, isNew: boolean): void {
    if (isNew) this.#pods.showStatic()
    void this.#network.update(node)
  }
}
