import { stat } from 'node:fs'
import { promisify } from 'node:util'
import { makeRoom } from '../apiserver/storage/open-storage.ts'
import type { MovableClock } from '../shared/clock/movable-clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import type { ClusterPki } from '../shared/pki/cluster-pki.ts'
import { type ClusterContext, type ClusterOptions, contextOf } from './context.ts'
import type { ControlPlane } from './control-plane.ts'
import { ensureDnsService } from './dns-service.ts'
import { type NodeNames, nodeNames } from './node-names.ts'
import { startFirstServer, startOtherServers, startOwnEtcd, writeKubeconfigs } from './servers.ts'
import type { ClusterSettings } from './settings.ts'
import { nodeDirectory, openStateDirectory, type StateDirectory } from './state-directory.ts'
import type { OtherServer } from './supervisor/api-servers.ts'
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

/**
 * Starts everything that a cluster is made of, in its state directory; resolves when the nodes are ready. Rejects with
 * nothing left running.
 */
export async function runCluster(options: ClusterOptions): Promise<Cluster> {
  const { settings, guardian } = options
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
  const context = contextOf(options, state)
  // A Node that may not start its threads aborts without a word: they start before kubelets use up a limit.
  await promisify(stat)(state.root)
  // Kubelets load their programs while the server starts.
  const nodes = await nodesOf(context, names)
  if (nodes) starting.defer(() => nodes.kill())
  const etcd = await startOwnEtcd(context)
  if (etcd) deferEnd(() => etcd.stop())
  const server = await startFirstServer(context, etcd)
  starting.defer(server.close)
  const { url, ownUrl, client, nodeClient, instruments, inject, record } = server
  if (settings.network === 'pod') await ensureDnsService(client, context.log)
  const others = await startOtherServers(context, server, etcd)
  if (others) deferEnd(() => others.stop())
  const urls = await writeKubeconfigs(context, server, others)
  await nodes?.start({ ...context, urls, client, nodeClient, simulated: names.simulated })
  if (nodes) deferEnd(() => nodes.stop())
  await instruments.snapshots.markStart()
  const running = starting.move()
  isRunning = true
  return {
    url,
    ownUrl,
    state,
    pki: context.pki,
    client,
    instruments,
    inject,
    record,
    clock: context.clusterClock,
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

/**
 * Returns undefined for a cluster without nodes, whose program is then not loaded. The first real node has the folders
 * of the cluster itself.
 */
async function nodesOf(context: ClusterContext, { real, simulated }: NodeNames): Promise<Nodes | undefined> {
  if (real.length + simulated.length === 0) return undefined
  const { state } = context
  const [{ Nodes }, { stopMs }] = await Promise.all([import('./supervisor/nodes.ts'), import('./supervisor/node.ts')])
  const places = real.map((name, index) => ({ name, place: index === 0 ? state : nodeDirectory(state, name) }))
  return new Nodes(places, fateOf(context, stopMs))
}

function fateOf(
  { settings, guardian, killsPods }: ClusterContext,
  stopMs: (settings: ClusterSettings) => number,
): PodsFate {
  if (guardian && settings.storage.engine !== 'memory')
    return { pods: 'kept', lifeLine: guardian.lifeLine, restarts: guardian.restarts, hold: guardian.hold }
  return killsPods ? { pods: 'killed' } : { pods: 'stopped', graceMs: stopMs(settings) }
}
