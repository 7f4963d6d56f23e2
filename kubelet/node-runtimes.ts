import path from 'node:path'
import { quantityValue } from '../shared/api/quantities/quantity.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { ConfigError } from '../shared/config/option.ts'
import type { Logger } from '../shared/log/log.ts'
import { type KubeletConfig, registryEnvironment } from './config.ts'
import { verificationPolicy } from './images/access/verification-options.ts'
import { createLossMark, type LossMark } from './node/loss-mark.ts'
import type { NodeTime } from './node/node-time.ts'
import type { ContainerRuntime, RuntimeCapabilities } from './runtime/container-runtime.ts'
import type { ImageService } from './runtime/image-service.ts'
import type { Pulls } from './runtime/images/find-image.ts'
import type { Images } from './runtime/images/images.ts'
import type { LogLimits } from './runtime/log-files.ts'
import type { Cgroups } from './runtime/process/cgroups/cgroups.ts'
import { criEndpoint } from './runtime-option.ts'

interface RuntimeOptions {
  /** The configuration; its `rootDir` is absolute. */
  config: KubeletConfig
  clock: Clock
  log: Logger
}

/** A runtime, and what a node that has it differs in. */
interface NodeRuntime {
  runtime: ContainerRuntime
  /** Resolves images; absent where an image is no more than its name. */
  images?: Images
  /** Keeps images; absent where none are kept. */
  imageService?: ImageService
  /** Tells of a lost node; absent where that cannot outlive its kubelet. */
  lossMark?: LossMark
  /** Moves the time of a node that has no time of its own, through the node's API. Absent if it cannot be moved. */
  sharedTime?: NodeTime
  /** Pods have folders and files on this machine. */
  podFiles: boolean
  /** Says why the node cannot have the tunnel that it should; absent where it can, or should not. */
  whyNoTunnel?: string
}

/**
 * Opens the runtime that `--runtime` names. Each runtime is loaded only when it is wanted: a simulated node needs no
 * processes, and a real node needs no simulation.
 */
export function openNodeRuntime(options: RuntimeOptions): Promise<NodeRuntime> {
  const { runtime } = options.config
  const endpoint = criEndpoint(runtime)
  if (endpoint !== undefined) return openContainerRuntime(endpoint, options)
  return runtime === 'simulated' ? openSimulation(options) : openProcesses(options)
}

async function openContainerRuntime(endpoint: string, { config, clock, log }: RuntimeOptions): Promise<NodeRuntime> {
  const { createCriRuntime } = await import('./runtime/cri/index.ts')
  const { rootDir, nodeIp: nodeIP } = config
  const logs = logLimits(config)
  const warn = (message: string, fields: object) => log.warn(fields, message)
  try {
    const runtime = await createCriRuntime({ endpoint, rootDir, nodeIP, clock, logs, warn })
    return { runtime, lossMark: createLossMark(path.join(rootDir, 'cri', 'lost')), podFiles: true }
  } catch (error) {
    throw new ConfigError(`--runtime cri:${endpoint} does not answer: ${(error as Error).message}`)
  }
}

const logLimits = ({ containerLogMaxSize, containerLogMaxFiles }: KubeletConfig): LogLimits => ({
  fileBytes: quantityValue(containerLogMaxSize),
  files: containerLogMaxFiles,
})

async function openSimulation({ config, clock }: RuntimeOptions): Promise<NodeRuntime> {
  const { createSimulatedRuntime } = await import('./runtime/simulated.ts')
  const runtime = createSimulatedRuntime({ clock, nodeIP: config.nodeIp })
  return { runtime, sharedTime: clusterTime, podFiles: false }
}

/** Moves nothing: the time of a node in the API server's process has moved already when the node's API is asked to. */
const clusterTime: NodeTime = { moveTo: async () => undefined }

async function openProcesses(options: RuntimeOptions): Promise<NodeRuntime> {
  const images = await openImages(options)
  const runtime = await createProcesses(options, images)
  const { imageService } = images
  const lossMark = await openLossMark(options.config)
  const whyNoTunnel = await whyNotAsWanted(options.config)
  return { runtime, images: images.images, imageService, lossMark, podFiles: true, whyNoTunnel }
}

async function createProcesses(
  { config, clock, log }: RuntimeOptions,
  { images, pulls }: NodeImages,
): Promise<ContainerRuntime> {
  const { createProcessRuntime, possibleIsolation } = await import('./runtime/process/index.ts')
  const ownNetworks = config.network === 'pod'
  const [capabilities, cgroups, whyNoNetworks] = await Promise.all([
    config.isolation === 'none' ? shared : possibleIsolation(config),
    config.limits === 'none' ? undefined : openGroups(config),
    ownNetworks ? tryNetworks() : undefined,
  ])
  if (ownNetworks) refuseWithoutNetworks(capabilities, whyNoNetworks)
  if (capabilities.files === 'host')
    log.warn({ files: 'host' }, 'containers see all files of this machine, keys among them')
  return createProcessRuntime({
    rootDir: config.rootDir,
    clock,
    images,
    pulls,
    nodeIP: config.nodeIp,
    supervised: config.supervised,
    ownNetworks,
    neighbours: config.neighbours,
    hidden: secretPlaces(config),
    layerBytes: quantityValue(config.containerLayerSize),
    cgroups,
    logs: logLimits(config),
    capabilities,
    warn: (message, fields) => log.warn(fields, message),
  })
}

const shared: RuntimeCapabilities = { isolation: 'none', files: 'host' }

/**
 * To enter a group of version 1 takes a container longer than all else that it needs, so these are used only when asked
 * for.
 */
async function openGroups({ limits, rootDir }: KubeletConfig): Promise<Cgroups | undefined> {
  const { openCgroups } = await import('./runtime/process/cgroups/open-cgroups.ts')
  const { runtimeDir } = await import('./runtime/process/shim/shim.ts')
  const found = await openCgroups(runtimeDir(rootDir), limits === 'auto' ? { versions: [2] } : {})
  if (typeof found !== 'string') return found
  if (limits === 'auto') return undefined
  throw new ConfigError(`--limits cgroup cannot be had on this machine: ${found}; use --limits none`)
}

async function tryNetworks(): Promise<string | undefined> {
  const { whyNoNetworks } = await import('./runtime/process/network/door.ts')
  return whyNoNetworks()
}

function refuseWithoutNetworks({ isolation }: RuntimeCapabilities, whyNot: string | undefined): void {
  const why = isolation === 'pod' ? whyNot : 'pods have no namespaces here (isolation none)'
  if (why) throw new ConfigError(`--network pod cannot be had on this machine: ${why}; use --network host`)
}

async function whyNotAsWanted({ podTunnel, strict }: KubeletConfig): Promise<string | undefined> {
  if (podTunnel === 'none') return undefined
  const { whyNoTunnel } = await import('./runtime/process/network/door.ts')
  const why = await whyNoTunnel()
  if (why && strict) throw new ConfigError(`--pod-tunnel ${podTunnel} cannot be had on this machine: ${why}`)
  return why
}

/** Says what images stand for, and how others are pulled. */
interface NodeImages {
  images: Images
  pulls?: Pulls
  imageService: ImageService
}

async function openImages({ config, clock }: RuntimeOptions): Promise<NodeImages> {
  const { rootDir, image, imagePath, imageStopSignal, pullImages } = config
  const { createKeptImages } = await import('./runtime/images/kept-images.ts')
  const { StoredImages } = await import('./images/stored-images.ts')
  const map = { commands: image, paths: imagePath, stopSignals: imageStopSignal }
  const { StoreService } = await import('./images/store-service.ts')
  const root = imageStoreOf(config)
  const stored = new StoredImages(root)
  const standIns = pullImages !== 'all'
  const images = createKeptImages(map, path.join(rootDir, 'images.json'), stored, { standIns })
  // What cannot be pulled again is not removed.
  if (pullImages === 'never') return { images, imageService: new StoreService(root) }
  const { ImagePulls } = await import('./images/registry/image-pulls.ts')
  const { proxies } = registryEnvironment()
  const settings = { mirrors: config.registryMirror, insecure: config.insecureRegistry, proxies }
  const { ImageAccess } = await import('./images/access/image-access.ts')
  const access = new ImageAccess(path.join(root, 'pulled'), verificationPolicy(config))
  const pulls = new ImagePulls({ root, settings, clock, stored, access })
  return { images, pulls, imageService: new StoreService(root, (id) => pulls.remove(id)) }
}

/** The shim, which is the machine as far as pods can tell, begins without it. */
async function openLossMark({ rootDir }: KubeletConfig): Promise<LossMark> {
  const { runtimeDir } = await import('./runtime/process/shim/shim.ts')
  return createLossMark(path.join(runtimeDir(rootDir), 'lost'))
}

const imageStoreOf = ({ rootDir, imageStore }: KubeletConfig): string =>
  path.resolve(imageStore || path.join(rootDir, 'images'))

/** Returns the secret files and folders outside the kubelet's own folder. */
const secretPlaces = (config: KubeletConfig): string[] => {
  const { kubeconfig, bootstrapKubeconfig, tlsPrivateKeyFile, hiddenPaths } = config
  const places = [kubeconfig, bootstrapKubeconfig, tlsPrivateKeyFile, imageStoreOf(config), ...hiddenPaths]
  return places.filter(Boolean).map((file) => path.resolve(file))
}
