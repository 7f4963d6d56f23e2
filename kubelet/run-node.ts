import path from 'node:path'
import { quantityValue } from '../shared/api/quantity.ts'
import type { Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { MovableClock } from '../shared/clock/movable-clock.ts'
import type { Activity } from '../shared/concurrency/activity.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
import { ReachedLimits } from '../shared/limits/reached-limits.ts'
import type { Logger } from '../shared/log/log.ts'
import { createActions } from './actions/actions.ts'
import { ownTls, type ServerTls } from './certificates/own-tls.ts'
import type { KubeletConfig } from './config.ts'
import { type ContainerLimitName, containerLimits } from './container-limits.ts'
import { evictionConfig } from './eviction/options.ts'
import type { Reviews } from './http/access.ts'
import { configz } from './http/configz.ts'
import { startHealthz } from './http/healthz.ts'
import type { ControlledNode } from './http/node-controls.ts'
import { KubeletMetrics } from './metrics/kubelet-metrics.ts'
import { createLossMark, type LossMark } from './node/loss-mark.ts'
import { createNodeTime, type NodeTime } from './node/node-time.ts'
import { shutdownGroups } from './node/shutdown-options.ts'
import { backoffConfig } from './pods/backoff-options.ts'
import { type RebootableKubelet, startRebootableKubelet } from './rebootable-kubelet.ts'
import type { ContainerRuntime, RuntimeCapabilities } from './runtime/container-runtime.ts'
import type { Images } from './runtime/images/images.ts'
import { trackedRuntime } from './runtime/tracked-runtime.ts'

export interface RunNodeOptions {
  config: KubeletConfig
  client: Client
  /** Where containers find the API server. */
  apiServer?: URL
  clock: Clock
  log: Logger
  /** Resolves when the API server has answered; absent where it is known to be Kubestage's. */
  isKubestage?(): Promise<boolean>
  /** Of a node that has its time for itself: how its API moves it. */
  moving?: { clock: MovableClock; activity: Activity }
  /** Tell how pods are, not each step of how they came there. */
  brief?: boolean
}
export interface RunningNode {
  ready: Promise<void>
  /** Ends all pods, within the time that they have for it, and then everything else. */
  stop(): Promise<void>
}

/** A kubelet with its runtime and its own HTTPS API, as the configuration wants them. */
export async function runNode({
  config,
  client,
  apiServer,
  isKubestage,
  clock,
  log,
  moving,
  brief,
}: RunNodeOptions): Promise<RunningNode> {
  const rootDir = path.resolve(config.rootDir)
  // Secrets of pods are files below it.
  makeFolder(rootDir)
  const images = config.runtime === 'simulated' ? undefined : await openImages(config, rootDir)
  const direct = await createRuntime({ config: { ...config, rootDir }, clock, log, images })
  const runtime = moving ? trackedRuntime(direct, moving.activity) : direct
  const lossMark = config.runtime === 'simulated' ? undefined : await openLossMark(rootDir)
  const actions = createActions(clock)
  const time = moving
    ? createNodeTime({ ...moving, tellContainers: (movedMs, isLast) => runtime.timeMoved(movedMs, { isLast }) })
    : config.runtime === 'simulated'
      ? clusterTime
      : undefined
  const pods = () => [...(kubelets?.current.pods() ?? [])]
  const onError = (error: unknown) => log.warn({ err: error }, 'no certificate for the API of the kubelet yet')
  const tls = await ownTls({ config, client, clock, onError })
  let kubelets: RebootableKubelet | undefined
  const node = () => kubelets && { ...kubelets.current, reboot: kubelets.reboot }
  const metrics = new KubeletMetrics()
  const limits = new ReachedLimits(containerLimits, { clock: clock.machine, log })
  const server =
    tls &&
    (await startServer({
      tls,
      config: { ...config, rootDir },
      client,
      runtime,
      images,
      clock,
      log,
      pods,
      time,
      metrics,
      limits,
      node,
      lossMark,
    }))
  const running = await startRebootableKubelet({
    client,
    clock,
    log,
    runtime,
    actions,
    nodeName: config.nodeName,
    nodeIP: config.nodeIp,
    podCidr: config.podCidr,
    isKubestage,
    ...(apiServer && { apiServer }),
    nodeLabels: { ...capabilityLabels(runtime.capabilities()), ...config.nodeLabels },
    ...(config.staticPodPath && { staticPodPath: path.resolve(config.staticPodPath) }),
    maxPods: config.maxPods,
    port: server?.port ?? 0,
    rootDir,
    podFiles: config.runtime !== 'simulated',
    brief,
    terminationReasons: config.featureGates.PodTerminationReason,
    eviction: evictionConfig(config),
    crashLoopBackOff: backoffConfig(config),
    shutdownGroups: shutdownGroups(config),
    probeGracePeriods: config.featureGates.ProbeTerminationGracePeriod,
    readyToStartConditions: config.featureGates.PodReadyToStartContainersCondition,
    stopSignals: config.featureGates.ContainerStopSignals,
    shortenRunningKills: config.shortenRunningKills,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    lossMark,
    metrics,
    limits,
  })
  kubelets = running
  const { ready } = running.current
  const stopping = new AbortController()
  if (server && tls.keep) void ready.then(() => tls.keep?.(server.useCertificate, stopping.signal)).catch(onError)
  const healthz = config.healthzPort ? ready.then(() => startHealthz(config.healthzPort, clock)) : undefined
  return {
    ready: Promise.all([ready, healthz]).then(() => {}),
    async stop() {
      stopping.abort()
      limits.close()
      await running.stop()
      await Promise.all([server?.close(), healthz?.then(({ close }) => close()), runtime.close(), client.close()])
    },
  }
}

/** Of a node in the API server's process: it has moved already when it is asked to. */
const clusterTime: NodeTime = { moveTo: async () => undefined }

/** What containers have for themselves on this node, to be seen and selected by. */
const capabilityLabels = ({ isolation, files }: RuntimeCapabilities): Record<string, string> => ({
  'kubestage.dev/isolation': isolation,
  'kubestage.dev/files': files,
})

interface ServerOptions extends Omit<RunNodeOptions, 'moving'> {
  tls: ServerTls
  runtime: ContainerRuntime
  images: Images | undefined
  pods(): Pod[]
  node(): ControlledNode | undefined
  time: NodeTime | undefined
  lossMark: LossMark | undefined
  metrics: KubeletMetrics
  limits: ReachedLimits<ContainerLimitName>
}

async function startServer({ tls, config, client, lossMark, metrics, limits, ...options }: ServerOptions) {
  const { nodeName, rootDir, featureGates } = config
  const { clock } = options
  let reviews: Promise<Reviews> | undefined
  const { startKubeletServer } = await import('./http/server.ts')
  return startKubeletServer({
    host: config.nodeIp,
    // Nobody can be told of another one while the node is lost.
    port: lossMark?.port ?? config.port,
    tls,
    ...options,
    reviews: () =>
      (reviews ??= import('./http/access-reviews.ts').then((found) =>
        found.createReviews({ client, clock, nodeName }),
      )),
    metrics: { metrics, limits, nodeName, rootDir, featureGates },
    configz: (port) => configz(config, port),
  })
}

async function openImages({ image, imagePath, imageStopSignal }: KubeletConfig, rootDir: string): Promise<Images> {
  const { createKeptImages } = await import('./runtime/images/kept-images.ts')
  const map = { commands: image, paths: imagePath, stopSignals: imageStopSignal }
  return createKeptImages(map, path.join(rootDir, 'images.json'))
}

/** The shim, which is the machine as far as pods can tell, begins without it. */
async function openLossMark(rootDir: string): Promise<LossMark> {
  const { runtimeDir } = await import('./runtime/process/shim.ts')
  return createLossMark(path.join(runtimeDir(rootDir), 'lost'))
}

/** Beside the kubelet's own folder. */
const secretPlaces = ({ kubeconfig, bootstrapKubeconfig, tlsPrivateKeyFile, hiddenPaths }: KubeletConfig): string[] =>
  [kubeconfig, bootstrapKubeconfig, tlsPrivateKeyFile, ...hiddenPaths].filter(Boolean).map((file) => path.resolve(file))

interface RuntimeOptions extends Omit<RunNodeOptions, 'client' | 'moving'> {
  /** Absent for a runtime that only pretends. */
  images: Images | undefined
}

/** Loads ahead what a real node will need. */
export async function loadRuntime(): Promise<void> {
  await Promise.all([
    import('./http/server.ts'),
    import('./runtime/process/index.ts'),
    import('./runtime/images/images.ts'),
  ])
}

/** Loaded only when wanted: a simulated node needs no process, a real one no simulation. */
async function createRuntime({ config, clock, log, images }: RuntimeOptions): Promise<ContainerRuntime> {
  if (!images) {
    const { createSimulatedRuntime } = await import('./runtime/simulated.ts')
    return createSimulatedRuntime({ clock, nodeIP: config.nodeIp })
  }
  const { createProcessRuntime, possibleIsolation } = await import('./runtime/process/index.ts')
  const capabilities: RuntimeCapabilities =
    config.isolation === 'none' ? { isolation: 'none', files: 'host' } : await possibleIsolation(config)
  if (capabilities.files === 'host')
    log.warn({ files: 'host' }, 'containers see all files of this machine, keys among them')
  return createProcessRuntime({
    rootDir: config.rootDir,
    clock,
    images,
    nodeIP: config.nodeIp,
    supervised: config.supervised,
    hidden: secretPlaces(config),
    layerBytes: quantityValue(config.containerLayerSize),
    logs: { fileBytes: quantityValue(config.containerLogMaxSize), files: config.containerLogMaxFiles },
    capabilities,
    warn: (message, fields) => log.warn(fields, message),
  })
}
