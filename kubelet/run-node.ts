import path from 'node:path'
import type { Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { MovableClock } from '../shared/clock/movable-clock.ts'
import type { Activity } from '../shared/concurrency/activity.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
import { type Health, notFound, startHealthServer } from '../shared/http/health-server.ts'
import { ReachedLimits } from '../shared/limits/reached-limits.ts'
import type { Logger } from '../shared/log/log.ts'
import { createActions } from './actions/actions.ts'
import { ownTls, type ServerTls } from './certificates/own-tls.ts'
import type { KubeletConfig } from './config.ts'
import { configuredKubelet } from './configured-kubelet.ts'
import { type ContainerLimitName, containerLimits } from './container-limits.ts'
import type { Reviews } from './http/access.ts'
import { configz } from './http/configz.ts'
import type { ControlledNode } from './http/control-node.ts'
import { KubeletMetrics } from './metrics/kubelet-metrics.ts'
import type { LossMark } from './node/loss-mark.ts'
import { createNodeTime, type NodeTime } from './node/node-time.ts'
import { openNodeRuntime } from './node-runtimes.ts'
import { type RebootableKubelet, startRebootableKubelet } from './rebootable-kubelet.ts'
import type { ContainerRuntime } from './runtime/container-runtime.ts'
import type { Images } from './runtime/images/images.ts'
import { trackedRuntime } from './runtime/tracked-runtime.ts'

export interface RunNodeOptions {
  config: KubeletConfig
  client: Client
  /** The URL at which containers find the API server. */
  apiServer?: URL
  clock: Clock
  log: Logger
  /** Resolves when the API server has answered; absent where it is known to be Kubestage's. */
  isKubestage?(): Promise<boolean>
  /** Moves the time of a node that has a clock of its own, through the node's API. */
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
export async function runNode(options: RunNodeOptions): Promise<RunningNode> {
  const { client, apiServer, clock, log, moving } = options
  const config = { ...options.config, rootDir: path.resolve(options.config.rootDir) }
  // Secrets of pods are files below it.
  makeFolder(config.rootDir)
  const opened = await openNodeRuntime({ config, clock, log })
  const { images, lossMark } = opened
  const runtime = moving ? trackedRuntime(opened.runtime, moving.activity) : opened.runtime
  const actions = createActions(clock)
  const time = moving
    ? createNodeTime({ ...moving, tellContainers: (movedMs, isLast) => runtime.timeMoved(movedMs, { isLast }) })
    : opened.sharedTime
  const pods = () => [...(kubelets?.current.pods() ?? [])]
  const onError = (error: unknown) => log.warn({ err: error }, 'no certificate for the API of the kubelet yet')
  const tls = await ownTls({ config, client, clock, onError })
  let kubelets: RebootableKubelet | undefined
  const node = () => kubelets && controlled(kubelets)
  const metrics = new KubeletMetrics()
  const limits = new ReachedLimits(containerLimits, { clock: clock.machine, log })
  const server =
    tls &&
    (await startServer({
      tls,
      config,
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
    ...configuredKubelet(config, runtime.capabilities(), opened.whyNoTunnel),
    isKubestage: options.isKubestage,
    ...(apiServer && { apiServer }),
    port: server?.port ?? 0,
    podFiles: opened.podFiles,
    images: opened.imageService,
    brief: options.brief,
    lossMark,
    metrics,
    limits,
  })
  kubelets = running
  const { ready } = running.current
  const stopping = new AbortController()
  if (server && tls.keep) void ready.then(() => tls.keep?.(server.useCertificate, stopping.signal)).catch(onError)
  const healthz = config.healthzPort
    ? ready.then(() => startHealthServer(config.healthzPort, clock, onlyHealthz))
    : undefined
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

const controlled = ({ current, reboot }: RebootableKubelet): ControlledNode => {
  const { controls, eviction } = current
  return { controls, eviction, reboot, isLost: () => current.isLost() }
}

const onlyHealthz: Health = (target) => (target === '/healthz' ? { code: 200, text: 'ok' } : notFound)

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
    // Another one cannot be reported while the node is lost.
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

/** Loads ahead what a real node will need. */
export async function loadRuntime(): Promise<void> {
  await Promise.all([
    import('./http/server.ts'),
    import('./runtime/process/index.ts'),
    import('./runtime/images/images.ts'),
  ])
}
