import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import { makeRoom, type StorageChoice } from '../apiserver/storage/open-storage.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { createMovableClock, type MovableClock } from '../shared/clock/movable-clock.ts'
import { scaledClock } from '../shared/clock/scaled-clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import { endpointHosts } from '../shared/config/endpoint-option.ts'
import { createLog } from '../shared/log/log.ts'
import { type ClusterPki, ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { type ControlPlane, firstAddress, startControlPlane } from './control-plane.ts'
import { ensureDnsService } from './dns-service.ts'
import { explainListening } from './explain-listening.ts'
import type { Guardian } from './guardian.ts'
import { type NodeNames, nodeNames } from './node-names.ts'
import { podNetworkOf } from './pod-range.ts'
import type { ClusterSettings } from './settings.ts'
import { checkNotShared, ownPort, sharesPort } from './shared-port.ts'
import { nodeDirectory, openStateDirectory, type StateDirectory } from './state-directory.ts'
import type { ApiServers, OtherServer } from './supervisor/api-servers.ts'
import type { LocalEtcd } from './supervisor/local-etcd.ts'
import type { Nodes } from './supervisor/nodes.ts'
import type { PodsFate } from './supervisor/pods-fate.ts'

export interface Cluster extends Pick<ControlPlane, 'url' | 'ownUrl' | 'client' | 'instruments' | 'inject' | 'record'> {
  state: StateDirectory
  pki: ClusterPki
  /** The cluster's own, which may run faster than the machine's. */
  clock: MovableClock
  nodeNames: NodeNames
  /** Returns the ID of the kubelet process that runs now, by default the first node's; undefined if none runs. */
  kubeletPid(nodeName?: string): number | undefined
  /** Returns the IDs of all kubelet processes that run now. */
  kubeletPids(): number[]
  /** Returns the ID of the etcd process that runs now, if the cluster has one of its own. */
  etcdPid(): number | undefined
  /** Returns the API servers besides the one in this process. */
  otherServers(): readonly OtherServer[]
  /** In order: pods end with their grace, then the nodes, other servers, the controllers, the server, etcd. */
  stop(): Promise<void>
  /** Kills all processes at once; resolves when this is the cluster's only process left. */
  kill(): Promise<void>
}

export interface ClusterOptions {
  settings: ClusterSettings
  /** The machine's; the cluster's own may run faster. */
  clock: Clock
  /** The cluster's own time, which begins at `originMs`. Default: the machine's, scaled as the settings say. */
  clusterClock?(originMs: number): MovableClock
  /** Starts an API server without control loops; by default the settings decide. */
  controllers?: false
  /** Lists the plugins of users. */
  plugins?: readonly NamedPlugin[]
  /** Simulated nodes have an HTTPS API as real ones have. */
  simulatedApi?: boolean
  /** Simulated pods report each step. */
  simulatedSteps?: boolean
  /** If this process ends without being asked to, pods are killed at once. Default: they end in order. */
  killsPods?: boolean
  /** Holds the guardian of a server that is started again when it ends. */
  guardian?: Guardian
  /** Sets the port at which the first of several servers alone answers. Default: one that is free. */
  ownPort?: number
  /** Receives one line about each unexpected event, and what is done about it. */
  onTrouble(line: string): void
  /** `kubeletPids`, `etcdPid` or `otherServers` are others than before. */
  onKubelet?(): void
}

/**
 * Everything that a cluster is made of, in its state directory; resolves when the nodes are ready. Rejects with nothing
 * left running.
 */
export async function runCluster(options: ClusterOptions): Promise<Cluster> {
  const { settings, clock, guardian, onTrouble } = options
  await using starting = new Undo()
  let isRunning = false
  // A server that starts again and fails leaves what it found running to the one after it.
  const deferEnd = (end: () => Promise<void>): void =>
    starting.defer(async () => {
      if (isRunning || !guardian?.restarts) await end()
    })
  const names = nodeNames(settings)
  await makeRoom(settings.storage)
  const state = openStateDirectory(settings.stateDir)
  starting.defer(state.release)
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const pki = pkiOf(settings, { state, nowMs: clock.now() })
  // Beside the server, for which their programs need as long.
  const nodes = await nodesOf(state, names, options)
  if (nodes) starting.defer(() => nodes.kill())
  const log = createLog({ file: join(state.logs, 'apiserver.log'), level: settings.logLevel, component: 'apiserver' })
  if (guardian && guardian.restarts > 0)
    log.warn({ ending: guardian.ending, restarts: guardian.restarts }, 'the API server before this one ended by itself')
  const timeOriginMs = Math.floor(clock.now() / 1000) * 1000
  const clusterClock = options.clusterClock?.(timeOriginMs) ?? scaled(clock, settings.timeScale, timeOriginMs)
  const etcd = await ownEtcd(state, options)
  if (etcd) deferEnd(() => etcd.stop())
  const { url, ownUrl, client, instruments, inject, record, nodeClient, close } = await startControlPlane({
    ...settings,
    ...(await portOfFirst(options)),
    ...(etcd?.access ?? offered(state, settings)),
    controllers: options.controllers ?? settings.controllers,
    ...(settings.network === 'pod' && podNetworkOf(settings)),
    plugins: options.plugins,
    volumesDir: state.volumes,
    ...{ pki, clock: clusterClock, log, onTrouble },
  }).catch(explainListening(settings))
  starting.defer(close)
  if (settings.network === 'pod') await ensureDnsService(client, log)
  const others = await otherServers(state, { ...options, pki, url, timeOriginMs, etcd })
  if (others) deferEnd(() => others.stop())
  const servers = others ? [ownUrl, ...others.list().map((other) => other.url)] : []
  await writeKubeconfigs(state, { url, servers, pki, onTrouble })
  const urls = [...new Set([url, ...servers])]
  const ofNodes = { ...options, state, pki, urls, clusterClock, timeOriginMs, client, nodeClient, log }
  await nodes?.start({ ...ofNodes, simulated: names.simulated })
  if (nodes) deferEnd(() => nodes.stop())
  await instruments.snapshots.markStart()
  const running = starting.move()
  isRunning = true
  return {
    url,
    ownUrl,
    state,
    pki,
    client,
    instruments,
    inject,
    record,
    clock: clusterClock,
    nodeNames: names,
    kubeletPid: (nodeName) => nodes?.kubeletPid(nodeName),
    kubeletPids: () => nodes?.kubeletPids() ?? [],
    etcdPid: () => etcd?.pid,
    otherServers: () => others?.list() ?? [],
    stop: () => running.run(),
    async kill() {
      await Promise.all([nodes?.kill(), others?.stop(), etcd?.stop()])
      state.release()
    },
  }
}

interface Written extends Pick<ClusterOptions, 'onTrouble'> {
  url: string
  /** Lists the URLs at which each of several servers alone answers. */
  servers: readonly string[]
  pki: ClusterPki
}

/** A context of the cluster, and one for each of several API servers. */
async function writeKubeconfigs(
  { kubeconfig }: StateDirectory,
  { url, servers, pki, onTrouble }: Written,
): Promise<void> {
  for (const [number, server] of [url, ...servers].entries()) {
    const name = number === 0 ? 'kubestage' : `kubestage-${number}`
    const trouble = await writeKubeconfig(kubeconfig, { name, server, ca: pki.ca.cert, user: pki.admin })
    if (trouble) onTrouble(trouble)
  }
}

const pkiOf = (
  { host, serviceCidr, nodeName, tlsSan, controlPlaneEndpoint }: ClusterSettings,
  { state, nowMs }: { state: StateDirectory; nowMs: number },
): ClusterPki =>
  ensureClusterPki({
    directory: state.pki,
    nowMs,
    host,
    serviceAddress: firstAddress(serviceCidr),
    nodeName,
    altNames: [...tlsSan, ...endpointHosts(controlPlaneEndpoint)],
  })

const scaled = (clock: Clock, scale: number, originMs: number): MovableClock =>
  createMovableClock(scaledClock(clock, { scale, originMs }))

/** The first has the folders of the cluster itself; the program of a cluster without nodes is not loaded. */
async function nodesOf(
  state: StateDirectory,
  { real, simulated }: NodeNames,
  options: ClusterOptions,
): Promise<Nodes | undefined> {
  if (real.length + simulated.length === 0) return undefined
  const [{ Nodes }, { stopMs }] = await Promise.all([import('./supervisor/nodes.ts'), import('./supervisor/node.ts')])
  const places = real.map((name, index) => ({ name, place: index === 0 ? state : nodeDirectory(state, name) }))
  return new Nodes(places, fateOf(options, stopMs))
}

/** Where `--storage etcd` names no members. */
async function ownEtcd(state: StateDirectory, options: ClusterOptions): Promise<LocalEtcd | undefined> {
  const { storage } = options.settings
  if (storage.engine !== 'etcd' || storage.endpoints.length > 0) return undefined
  const { LocalEtcd } = await import('./supervisor/local-etcd.ts')
  return LocalEtcd.start({ ...options, state, onStart: options.onKubelet })
}

/** The port of the first of several servers that share one. */
async function portOfFirst({ settings, guardian, ownPort: given }: ClusterOptions): Promise<{ ownPort?: number }> {
  if (!sharesPort(settings)) return {}
  await checkNotShared(settings, guardian).catch(explainListening(settings))
  return { ownPort: given ?? (await ownPort(settings, 1)) }
}

/** Where more than one is wanted. */
async function otherServers(
  state: StateDirectory,
  options: ClusterOptions & {
    pki: ClusterPki
    url: string
    timeOriginMs: number
    etcd: LocalEtcd | undefined
  },
): Promise<ApiServers | undefined> {
  const { settings, etcd } = options
  if (settings.apiservers === 1) return undefined
  const { ApiServers } = await import('./supervisor/api-servers.ts')
  const { offerAt } = offered(state, settings)
  const storage: StorageChoice = offerAt ? { engine: 'shared', path: offerAt } : settings.storage
  return ApiServers.start({
    ...settings,
    storage,
    ...etcd?.access,
    ...options,
    state,
    onStart: options.onKubelet,
  })
}

/** Where the first server offers the store that it holds in memory or in a file. */
const offered = ({ root }: StateDirectory, { apiservers, storage }: ClusterSettings): { offerAt?: string } =>
  apiservers > 1 && storage.engine !== 'etcd' ? { offerAt: join(root, 'apiservers', 'store.sock') } : {}

function fateOf(
  { settings, guardian, killsPods }: ClusterOptions,
  stopMs: (settings: ClusterSettings) => number,
): PodsFate {
  if (guardian && settings.storage.engine !== 'memory')
    return { pods: 'kept', lifeLine: guardian.lifeLine, restarts: guardian.restarts, hold: guardian.hold }
  return killsPods ? { pods: 'killed' } : { pods: 'stopped', graceMs: stopMs(settings) }
}
