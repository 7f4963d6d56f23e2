import { parseStorage } from '../apiserver/storage/open-storage.ts'
import { clusterOptions } from '../cluster/settings.ts'
import { commandMap, durationMs, flag, folder, mustBe, suggestion } from '../shared/config/option-types.ts'
import { timeScaleOption } from '../shared/config/time-options.ts'
import { type ClusterLimits, limitsFrom } from './limits.ts'
import type { StartClusterOptions } from './options.ts'

type Check = (value: unknown) => unknown

const {
  controllers,
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
  etcdPrefix,
  featureGates,
  host,
  http2,
  imagePath,
  imageStore,
  journal,
  leaderElectResourceName,
  leaderElectResourceNamespace,
  network,
  nodes,
  port,
  pullImages,
  serviceCidr,
  simulatedNodes,
} = clusterOptions

/**
 * Checks the options one by one. Each check throws an Error whose message continues after the option's name, as those
 * of the types of flags do.
 */
const checks: Record<keyof StartClusterOptions, Check> = {
  apiOnly: flag.fromFile,
  nodes: nodes.type.fromFile,
  simulatedNodes: simulatedNodes.type.fromFile,
  simulatedSteps: flag.fromFile,
  scheduler: flag.fromFile,
  controllers: controllers.type.fromFile,
  time: (value) => value === 'real' || value === 'virtual' || checkScale(value),
  host: host.type.fromFile,
  port: port.type.fromFile,
  http2: http2.type.fromFile,
  serviceCidr: serviceCidr.type.fromFile,
  featureGates: featureGates.type.fromFile,
  limits: (value) => limitsFrom(value as ClusterLimits),
  images: commandMap.fromFile,
  imagePaths: imagePath.type.fromFile,
  imageStore: imageStore.type.fromFile,
  pullImages: pullImages.type.fromFile,
  network: network.type.fromFile,
  strict: flag.fromFile,
  storage: parseStorage,
  etcdCafile: etcdCafile.type.fromFile,
  etcdCertfile: etcdCertfile.type.fromFile,
  etcdKeyfile: etcdKeyfile.type.fromFile,
  etcdPrefix: etcdPrefix.type.fromFile,
  leaderElect: flag.fromFile,
  leaderElectLeaseDuration: checkDuration,
  leaderElectRenewDeadline: checkDuration,
  leaderElectRetryPeriod: checkDuration,
  leaderElectResourceName: leaderElectResourceName.type.fromFile,
  leaderElectResourceNamespace: leaderElectResourceNamespace.type.fromFile,
  plugins: checkFunctions,
  journal: journal.type.fromFile,
  recordOnFailure: folder.fromFile,
  shutdownGracePeriod: checkDuration,
  stateDir: folder.fromFile,
  onTrouble: checkFunction,
}

/** Checks the options at run time, for callers without a type checker. Throws an Error of one sentence. */
export function checkOptions(options: StartClusterOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name))
      throw new Error(`startCluster has no option ${name}; ${suggestion(name, Object.keys(checks))}`)
    if (value === undefined) continue
    try {
      checks[name as keyof StartClusterOptions](value)
    } catch (error) {
      throw new Error(`startCluster: ${name} ${(error as Error).message}`)
    }
  }
  const { apiOnly, nodes = 0, simulatedNodes = 0, time } = options
  if (time === 'virtual' && nodes > 0)
    throw new Error("processes cannot wait for a virtual clock: time: 'virtual' needs simulatedNodes")
  if (apiOnly && nodes + simulatedNodes > 0)
    throw new Error('apiOnly starts no nodes: leave out nodes and simulatedNodes')
}

function checkScale(value: unknown): void {
  try {
    timeScaleOption.type.fromFile(value)
  } catch {
    throw mustBe("'real', 'virtual' or a number from 1 to 1000", value)
  }
}

function checkDuration(value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0)) durationMs(value)
}

function checkFunctions(value: unknown): void {
  if (!Array.isArray(value)) throw mustBe('a list of functions', value)
  for (const one of value) if (typeof one !== 'function') throw mustBe('a list of functions', one)
}

function checkFunction(value: unknown): void {
  if (typeof value !== 'function') throw mustBe('a function', value)
}
