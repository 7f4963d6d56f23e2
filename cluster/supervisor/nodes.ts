import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { kubeletOptions } from '../../kubelet/config.ts'
import { runNode } from '../../kubelet/run-node.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import type { Logger } from '../../shared/log/log.ts'
import { type ClusterPki, ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { firstAddress } from '../addresses.ts'
import type { ClusterSettings } from '../settings.ts'
import type { StateDirectory } from '../state-directory.ts'
import { Child } from './child.ts'
import { kubeletPidFile, kubeletSpec } from './child-specs.ts'
import { type RunningNode, readyTimeoutMs, startNode, stopMs } from './node.ts'
import { nodeIsReady } from './node-ready.ts'
import { areTakenOver, killed, type PodsFate } from './pods-fate.ts'

/** A node whose kubelet is a process of its own, and where that keeps its files. */
export interface RealNode {
  name: string
  place: StateDirectory
}

export interface NodesOptions {
  settings: ClusterSettings
  /** Holds the state folder of the whole cluster. */
  state: StateDirectory
  pki: ClusterPki
  /** Lists URLs of all API servers. */
  urls: readonly string[]
  /** Holds the machine's clock. */
  clock: Clock
  /** Holds the cluster's own clock, which simulated nodes use. */
  clusterClock: Clock
  timeOriginMs: number
  client: Client
  /** Returns a client that acts as the kubelet of a simulated node, without the network. */
  nodeClient(name: string): Client
  log: Logger
  onTrouble(line: string): void
  /** A kubelet has ended, or another runs. */
  onKubelet?(): void
  /** Names of nodes within this process, whose containers are timers. */
  simulated: readonly string[]
  /** If true, simulated pods report each step. */
  simulatedSteps?: boolean
  /** Each of them has an HTTPS API as real ones have, for `kubestage node`. */
  simulatedApi?: boolean
}

const pidFileOf = ({ place }: RealNode): string => kubeletPidFile(place)

/**
 * Holds all nodes of a cluster. The constructor starts the kubelets: they load their programs while the server starts,
 * and wait for `start`.
 */
export class Nodes {
  readonly #kubelets: readonly (RealNode & { kubelet: Child })[]
  readonly #fate: PodsFate
  #started: RunningNode[] = []

  constructor(real: readonly RealNode[], fate = killed) {
    this.#fate = fate
    this.#kubelets = real.map((node) => {
      mkdirSync(node.place.logs, { recursive: true, mode: 0o700 })
      return { ...node, kubelet: new Child(kubeletSpec(node.place, fate)) }
    })
  }

  /**
   * Resolves when all nodes are ready. If a node fails, stops the others and rejects with the cause, unless the pods
   * are taken over from an earlier server.
   */
  async start(options: NodesOptions): Promise<void> {
    const outcomes = await Promise.allSettled([
      ...this.#kubelets.map((kubelet, index) =>
        startReal({ ...kubelet, isFirst: index === 0, fate: this.#fate }, options),
      ),
      ...options.simulated.map((name) => startSimulated(name, options)),
    ])
    this.#started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed) {
      if (!areTakenOver(this.#fate)) await this.stop()
      throw failed.reason
    }
    if (this.#fate.pods === 'kept') this.#fate.hold(this.#kubelets.map(pidFileOf), stopMs(options.settings))
  }

  /**
   * Returns the process ID of the node's current kubelet, by default of the first node. Undefined if the node has no
   * process of its own.
   */
  kubeletPid(nodeName = this.#kubelets[0]?.name): number | undefined {
    return this.#started.find(({ name }) => name === nodeName)?.kubeletPid()
  }

  kubeletPids(): number[] {
    return this.#started.map((node) => node.kubeletPid()).filter((pid) => pid !== undefined)
  }

  /** Stops all nodes; their pods end first, within their grace. */
  async stop(): Promise<void> {
    const started = this.#started.splice(0)
    await Promise.all(started.map((node) => node.stop()))
  }

  /** Kills all nodes at once, including kubelets that have not begun. */
  async kill(): Promise<void> {
    const started = this.#started.splice(0)
    await Promise.all([...started, ...this.#kubelets.map(({ kubelet }) => kubelet)].map((one) => one.kill()))
  }
}

/** A kubelet in a process of its own; resolves when its node is ready. */
async function startReal(
  { name, place, kubelet, isFirst, fate }: RealNode & { kubelet: Child; isFirst: boolean; fate: PodsFate },
  options: NodesOptions,
): Promise<RunningNode> {
  const { state, settings, urls, clock, timeOriginMs, client, onTrouble, onKubelet } = options
  const pki = place.pki === state.pki ? options.pki : ownPki({ name, place }, options)
  // One port is for one kubelet.
  const kubeletPort = isFirst ? settings.kubeletPort : 0
  const own = { ...settings, nodeName: name, kubeletPort }
  return await startNode(
    {
      settings: own,
      state: place,
      clusterRoot: state.root,
      pki,
      urls,
      clock,
      timeOriginMs,
      onTrouble,
      onKubelet,
      kubelet,
      fate,
    },
    client,
  )
}

/** Certificates of its own, by the cluster's CA. */
function ownPki({ name, place }: RealNode, { state, settings, clock }: NodesOptions): ClusterPki {
  mkdirSync(place.pki, { recursive: true, mode: 0o700 })
  for (const file of ['ca.crt', 'ca.key']) copyFileSync(join(state.pki, file), join(place.pki, file))
  const { host, serviceCidr } = settings
  const serviceAddress = firstAddress(serviceCidr)
  return ensureClusterPki({ directory: place.pki, nowMs: clock.now(), host, serviceAddress, nodeName: name })
}

/** A kubelet in this process; resolves when its node is ready. */
async function startSimulated(name: string, options: NodesOptions): Promise<RunningNode> {
  const { state, settings, pki, client, clock, clusterClock, log, simulatedSteps, simulatedApi } = options
  const { values } = await resolveOptions(kubeletOptions, { args: [], env: {} })
  const rootDir = join(state.root, 'nodes', name, 'kubelet')
  mkdirSync(rootDir, { recursive: true, mode: 0o700 })
  // One certificate does for all: the API server reaches them by their address.
  if (simulatedApi) void pki.kubeletServer
  const files = { tlsCertFile: 'kubelet.crt', tlsPrivateKeyFile: 'kubelet.key', clientCaFile: 'ca.crt' }
  const tls = Object.fromEntries(Object.entries(files).map(([key, file]) => [key, join(state.pki, file)]))
  const config = {
    ...values,
    ...(simulatedApi && tls),
    featureGates: settings.featureGates,
    nodeName: name,
    nodeIp: '127.0.0.1',
    rootDir,
    runtime: 'simulated' as const,
    shutdownGracePeriod: 0,
  }
  const node = await runNode({
    config,
    client: options.nodeClient(name),
    clock: clusterClock,
    log,
    brief: !simulatedSteps,
  })
  const { controllers } = settings
  const logFile = join(state.logs, 'apiserver.log')
  try {
    await node.ready
    await nodeIsReady({ client, clock, nodeName: name, timeoutMs: readyTimeoutMs, controllers, logFile })
  } catch (error) {
    await node.stop()
    throw error
  }
  return { name, stop: () => node.stop(), kill: async () => {}, kubeletPid: () => undefined }
}
