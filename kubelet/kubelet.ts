import { hasEnded } from '../shared/api/pods/pod-phase.ts'
import type { Node, Pod } from '../shared/api/types.ts'
import { startInformer } from '../shared/client/informer.ts'
import { nodes } from '../shared/client/resources.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import { defaultFeatureGates, type FeatureGates } from '../shared/config/feature-gates.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
import type { ReachedLimits } from '../shared/limits/reached-limits.ts'
import { PodAdmission } from './admission/pod-admission.ts'
import { forbiddenSysctl } from './admission/sysctls.ts'
import type { ContainerLimitName } from './container-limits.ts'
import { createKillPodNow } from './ending/kill-pod-now.ts'
import type { KillOptions } from './ending/pod-state-machine.ts'
import { createEventRecorder } from './events/event-recorder.ts'
import { troubleOnly } from './events/trouble-only.ts'
import { type EvictionConfig, EvictionManager } from './eviction/eviction-manager.ts'
import { machineSignals } from './eviction/machine-signals.ts'
import { createPodMeter } from './eviction/measure-pods.ts'
import type { Observations } from './eviction/signals.ts'
import { ImageGarbage } from './images/garbage/image-garbage.ts'
import type { ImageGarbagePolicy } from './images/garbage/options.ts'
import { KubeletMetrics } from './metrics/kubelet-metrics.ts'
import { startLease } from './node/lease.ts'
import type { LossMark } from './node/loss-mark.ts'
import { machineFacts } from './node/machine.ts'
import { createNodeControls, type NodeControls } from './node/node-controls.ts'
import { shownImages } from './node/node-images.ts'
import { NodeRegistration, nodeReference } from './node/node-registration.ts'
import { type NodeImages, nodeObject } from './node/node-status.ts'
import { type PodCidr, PodNetwork } from './node/pod-network.ts'
import { type ServedCluster, serveCluster } from './node/serve-cluster.ts'
import { type ShutdownGroup, twoGroups } from './node/shutdown.ts'
import { createUplink } from './node/uplink.ts'
import { isMirror, isStatic } from './pod/static-pod.ts'
import { createPodLifecycle, type PodLifecycleOptions } from './pods/pod-lifecycle.ts'
import { startPodSource } from './pods/pod-source.ts'
import { reportContainerLimits } from './report-container-limits.ts'
import type { ImageService } from './runtime/image-service.ts'
import { hasPodNetworks } from './runtime/pod-networks.ts'
import { watchManifests } from './static/manifest-folder.ts'
import { createMirrorPods } from './static/mirror-pods.ts'
import { StaticPods } from './static/static-pods.ts'
import { readinessDiffers } from './status/conditions.ts'

type OfPods =
  | ('client' | 'clock' | 'runtime' | 'actions' | 'nodeName' | 'nodeIP' | 'apiServer' | 'rootDir')
  | ('brief' | 'strict' | 'podPidsLimit' | 'random' | 'crashLoopBackOff')

export interface KubeletOptions extends Pick<PodLifecycleOptions, OfPods> {
  log: KubeletLog
  /** The port of the kubelet's own HTTPS API, shown in the node's status. */
  port: number
  nodeLabels?: Record<string, string>
  /** A folder whose files are pods of this node. */
  staticPodPath?: string
  /** The number of pods that the node takes; by default 110. */
  maxPods?: number
  /**
   * Make volumes, and files for last words; on by default. Not where no program could read them: missing sources of a
   * volume are still reported.
   */
  podFiles?: boolean
  /** Features that are on or off other than by default. */
  featureGates?: Partial<FeatureGates>
  /** Kernel parameters that pods may set beside the safe ones; see {@link SysctlPolicy}. */
  allowedUnsafeSysctls?: readonly string[]
  /** A second DELETE that leaves less time shortens a kill that has begun; off by default, as upstream. */
  shortenRunningKills?: boolean
  /** Says when pods are evicted because the node runs short of a resource; by default never. */
  eviction?: EvictionConfig
  /** Measures what is left of memory, disk and process ids; by default this machine's. */
  observe?(): Promise<Observations>
  /** The images that the machine keeps; absent where it keeps none. */
  images?: ImageService
  /** Says when images are removed again; by default never. */
  imageGarbage?: ImageGarbagePolicy
  /** Measures the file system of the images; by default the real one. */
  imageDisk?(): Promise<{ available: number; capacity: number }>
  /** Says how many images the node's status shows at most: 50 by default, and all with -1. */
  nodeStatusMaxImages?: number
  /** Says how long pods may take to end when the node shuts down; by default they end at once. */
  shutdownGroups?: readonly ShutdownGroup[]
  /** Tells the node's next kubelet if the node is lost; by default it does not know. */
  lossMark?: LossMark
  /** Sets the addresses of pods; `auto` by default. */
  podCidr?: PodCidr
  /** Delays what the rules of Services learn of changes, by these milliseconds of the machine; 0 by default. */
  endpointLagMs?: number
  /** Asks for a tunnel to nodes of other machines; `why` says why it cannot be had. By default there is none. */
  tunnel?: { why?: string }
  /** Resolves when the API server has answered; absent where it is known to be Kubestage's. */
  isKubestage?(): Promise<boolean>
  /** Counts the limits that containers reach; by default they are not counted. */
  limits?: ReachedLimits<ContainerLimitName>
  /** Metrics of the kubelet; by default they are not served. */
  metrics?: KubeletMetrics
}
export interface KubeletLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
export interface Kubelet {
  /** Resolves when the node is registered and the first pods are known. */
  ready: Promise<void>
  /** With our own newest status of each, which may be ahead of the API's. */
  pods(): Iterable<Pod>
  /** Controls the machine that the kubelet stands for. */
  controls: NodeControls
  eviction: EvictionManager
  /** True while the node is lost or shut down. */
  isLost(): boolean
  /** Ends all pods, by their priority and within their time, and tells why. */
  shutdown(): Promise<void>
  /** Stops looking after the node; what runs goes on and is found again by the next kubelet. */
  close(): Promise<void>
}

const neverEvict: EvictionConfig = {
  thresholds: [],
  measured: new Set(),
  maxPodGracePeriodSeconds: 0,
  pressureTransitionPeriodMs: 0,
}

/** Limits how long the last statuses and records are written when the kubelet stops. */
const FLUSH_MS = 2_000
/** The node's first status waits this long for the API server's version. */
const NETWORK_MS = 2_000

/** Puts the parts together: the API's pods in, processes and statuses out. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { clock, log, runtime, nodeName, nodeIP, rootDir } = options
  const { images, lossMark, metrics = new KubeletMetrics() } = options
  const uplink = createUplink(options.client, {
    isCut: lossMark?.port !== undefined,
    onChange: (isCut) => (isCut ? lossMark?.set(options.port) : lossMark?.clear()),
  })
  const { client } = uplink
  const nameOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
  const warn = (error: unknown, what: string, pod?: Pod) =>
    log.warn({ err: error, ...(pod && { pod: nameOf(pod) }) }, what)
  makeFolder(rootDir)
  const machine = await machineFacts(rootDir)

  const recorder = createEventRecorder({
    client,
    clock,
    component: 'kubelet',
    host: nodeName,
    onError: (error) => warn(error, 'an event was lost'),
  })
  const events = options.brief ? troubleOnly(recorder) : recorder
  let cluster: ServedCluster | undefined
  const network = new PodNetwork({
    podCidr: options.podCidr ?? 'auto',
    isKubestage: options.isKubestage,
    runtime,
    async serve() {
      if (!runtime.network || !options.apiServer) return undefined
      cluster?.close()
      cluster = await serveCluster({
        network: runtime.network,
        client,
        clock,
        server: options.apiServer,
        nodeName,
        events,
        ...(options.tunnel && { tunnel: { ...options.tunnel, at: { host: nodeIP, port: options.port } } }),
        endpointLagMs: options.endpointLagMs ?? 0,
        onPodLimit: ({ namespace, name, podUid: uid }, message) =>
          events.event(
            { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
            'Warning',
            'TooManyConnections',
            message,
          ),
        warn,
      })
      return cluster
    },
    onShared(cidr, why) {
      const message = `Pods share the node's address, not one of ${cidr}: ${why}. Run "ip route add local ${cidr} dev lo" as root, and restart the kubelet`
      log.warn({}, message)
      events.event(nodeReference(nodeName), 'Warning', 'PodAddressesShared', message)
    },
  })
  const lifecycle = await createPodLifecycle({
    ...options,
    client,
    events,
    metrics,
    machine,
    podFiles: options.podFiles ?? true,
    featureGates: { ...defaultFeatureGates, ...options.featureGates },
    shortenRunningKills: options.shortenRunningKills ?? false,
    networkProblem: () => network.problem,
    dnsServer: () => cluster?.dns,
    lostAt: async ({ spec, status }) => (spec.hostNetwork ? [] : ((await cluster?.lostAt(status?.podIP ?? '')) ?? [])),
    makeRoom: (pod) => admission.resize(pod),
    onOver(podUid) {
      admission.released(podUid)
      statics.over(podUid)
    },
    latest: (pod) => (isStatic(pod) && !statics.isCurrent(pod) ? undefined : objectOf(pod)),
    info: (fields, message) => log.info(fields, message),
    warn,
    malformed: (what, pod) => log.error({ pod: nameOf(pod) }, what),
  })
  const { workers, statuses } = lifecycle
  const kill = (pod: Pod, how: KillOptions): Promise<void> => workers.kill(pod, how)
  const controls = createNodeControls({
    clock,
    events,
    nodeName,
    uplink,
    groups: options.shutdownGroups ?? twoGroups(0, 0),
    pods: activePods,
    kill,
    updateNode: () => node.update(),
    flush,
  })
  const garbage =
    images &&
    new ImageGarbage({
      images,
      policy: options.imageGarbage,
      disk: options.imageDisk,
      clock,
      events,
      node: nodeReference(nodeName),
      runtime,
      rootDir,
      pods: activePods,
      onRemoved: (reason) => metrics.imageRemoved(reason),
      onError: (error) => warn(error, 'images could not be garbage collected'),
    })
  const eviction = new EvictionManager({
    clock,
    events,
    nodeName,
    config: options.eviction ?? neverEvict,
    activePods,
    observe: options.observe ?? (() => machineSignals(rootDir, images?.folder)),
    usageOf: createPodMeter({ runtime, volumePath: (pod, volume) => lifecycle.volumePath(pod, volume) }),
    kill: createKillPodNow({ clock, events, kill }),
    reclaim: (signal) => garbage?.reclaim(signal),
    onEvicted: (signal) => metrics.evicted(signal),
    onChange: () => void node.update(),
    onError: (error) => warn(error, 'what the node has left could not be measured'),
  })
  const facts = () => ({
    name: nodeName,
    nodeIP,
    port: options.port,
    machine: { ...machine, bootId: runtime.bootId() ?? machine.bootId },
    maxPods: options.maxPods ?? 110,
    runtimeVersion: runtime.version,
    pressure: eviction.pressure(),
    problems: [runtime.problem?.(), network.problem, ...controls.problems()].filter((problem) => problem !== undefined),
    labels: options.nodeLabels,
    images: nodeImages,
  })
  let nodeImages: NodeImages | undefined
  async function seeImages(): Promise<void> {
    if (images) nodeImages = shownImages(await images.list(), options.nodeStatusMaxImages ?? 50)
  }
  if (images) await seeImages().catch((error) => warn(error, 'the images of the node could not be listed'))
  await withinLimit(network.begin(), NETWORK_MS, clock.machine)
  const node = new NodeRegistration({
    client,
    clock,
    events,
    facts,
    ...(images && { refresh: seeImages }),
    onError: (error) => warn(error, 'the node could not be registered or updated'),
  })
  const networkIsReady = (): void => {
    workers.syncAll()
    void node.update()
  }
  if (network.problem) void network.ready.then(networkIsReady)
  events.event(nodeReference(nodeName), 'Normal', 'Starting', 'Starting kubelet.')
  const nodeSource = startInformer<Node>({
    client,
    clock,
    resource: nodes,
    selection: { fieldSelector: `metadata.name=${nodeName}` },
    onError: (error) => warn(error, 'the node could not be watched'),
    handlers: [
      {
        onAdd(node) {
          statics.showAll()
          void network.update(node)
        },
        onUpdate: (node) => void network.update(node),
      },
    ],
  })
  const sysctls = {
    sharesNetwork: (options.podFiles ?? true) && !hasPodNetworks(runtime),
    sharesIpc: !runtime.ownIpc,
    allowed: options.allowedUnsafeSysctls,
  }
  const admission = new PodAdmission(
    {
      clock,
      events,
      statuses,
      reject: (pod, status) => lifecycle.rejected(pod, status),
      handlers: [(pod) => eviction.admit(pod), forbiddenSysctl(sysctls), controls.admit],
      node: () => nodeSource.get({ name: nodeName }) ?? nodeObject({ ...facts(), nowMs: clock.now() }),
      kill,
      metrics,
    },
    {
      onAdd: (pod) => workers.update(pod, { running: lifecycle.ranBefore(pod.metadata.uid ?? '') }),
      onUpdate: (pod) => workers.update(pod),
      onReconcile(pod) {
        workers.observe(pod)
        statuses.reconcile(pod)
        if (readinessDiffers(pod)) workers.sync(pod.metadata.uid ?? '')
      },
      onRemove: (pod) => workers.remove(pod),
    },
  )
  const statics = new StaticPods({
    mirrors: createMirrorPods({
      client,
      find: objectOf,
      node: () => nodeSource.get({ name: nodeName }),
      onError: (error, pod) => warn(error, 'a mirror pod could not be kept', pod),
    }),
    next: admission,
  })
  const source = startPodSource({
    client,
    clock,
    nodeName,
    onError: (error) => warn(error, 'pods could not be watched'),
    handler: statics,
  })
  const manifests =
    options.staticPodPath === undefined
      ? undefined
      : watchManifests({
          folder: options.staticPodPath,
          nodeName,
          clock,
          onPods: (pods) => statics.want(pods),
          onError: (error, file) => warn(error, `${file} could not be read as a pod`),
        })

  const stopLease = startLease({
    client,
    clock,
    nodeName,
    onError: (error) => warn(error, 'the lease could not be renewed'),
  })
  const ready = Promise.all([node.registered, source.synced(), lifecycle.synced(), manifests?.read]).then(() =>
    lifecycle.endOrphans(new Set([...source.list(), ...statics.list()].map(({ metadata }) => metadata.uid ?? ''))),
  )
  ready.catch((error) => warn(error, 'the kubelet did not get ready'))

  const { limits } = options
  const podOf = (uid: string): Pod | undefined => [...pods()].find(({ metadata }) => metadata.uid === uid)
  const stopReports = limits && reportContainerLimits({ runtime, limits, events, podOf })

  function objectOf({ metadata }: Pod): Pod | undefined {
    return source.get({ namespace: metadata.namespace, name: metadata.name ?? '' })
  }
  function* pods(): Generator<Pod> {
    for (const object of source.list()) {
      const pod = isMirror(object) ? statics.shownBy(object) : object
      if (pod) yield { ...pod, status: statuses.get(pod.metadata.uid ?? '') ?? pod.status }
    }
  }
  function* activePods(): Generator<Pod> {
    for (const pod of pods()) if (!hasEnded(pod)) yield pod
  }
  async function flush(limitMs = FLUSH_MS): Promise<void> {
    await withinLimit(lifecycle.flush(), limitMs, clock.machine)
  }

  return {
    ready,
    pods,
    controls,
    eviction,
    isLost: () => uplink.isCut,
    shutdown: controls.endPods,
    async close() {
      uplink.close()
      network.close()
      eviction.close()
      garbage?.close()
      stopReports?.()
      stopLease()
      manifests?.close()
      node.close()
      await Promise.all([source.close(), nodeSource.close(), lifecycle.close()])
      await flush()
    },
  }
}
