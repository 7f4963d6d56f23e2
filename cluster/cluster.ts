import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import { makeRoom } from '../apiserver/storage/open-storage.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { scaledClock } from '../shared/clock/scaled-clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import { createLog } from '../shared/log/log.ts'
import { ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { firstAddress, startControlPlane } from './control-plane.ts'
import { explainListening } from './explain-listening.ts'
import type { Guardian } from './guardian.ts'
import { type NodeNames, nodeNames } from './node-names.ts'
import type { ClusterSettings } from './settings.ts'
import { openStateDirectory, type StateDirectory, writingState } from './state-directory.ts'
import type { Nodes } from './supervisor/nodes.ts'
import type { PodsFate } from './supervisor/pods-fate.ts'

export interface Cluster {
  url: string
  state: StateDirectory
  /** As an administrator, without the network. */
  client: Client
  /** The cluster's own, which may run faster than the machine's. */
  clock: Clock
  nodeNames: NodeNames
  /** Of the first node's kubelet that runs now; undefined without one. */
  kubeletPid(): number | undefined
  /** Of all kubelets that run now. */
  kubeletPids(): number[]
  /** In order: pods end with their grace, then the nodes, the controllers, the server. */
  stop(): Promise<void>
  /** At once; resolves when this is the cluster's only process left. */
  kill(): Promise<void>
}

export interface ClusterOptions {
  settings: ClusterSettings
  /** The machine's; the cluster's own may run faster. */
  clock: Clock
  /** What its users add to the API server. */
  plugins?: readonly NamedPlugin[]
  /** One line about something that should not have happened, and what is done about it. */
  onTrouble(line: string): void
  /** `kubeletPids` are others than before. */
  onKubelet?(): void
  /** Of a server that is started again when it ends; without it the pods end when the server does, in order. */
  guardian?: Guardian
}

/** Everything that `kubestage up` runs; resolves when the nodes are ready. Rejects with nothing left running. */
export function startCluster(options: ClusterOptions): Promise<Cluster> {
  return writingState(options.settings.stateDir, () => start(options))
}

async function start({ settings, plugins, clock, onTrouble, onKubelet, guardian }: ClusterOptions): Promise<Cluster> {
  await using starting = new Undo()
  const names = nodeNames(settings)
  await makeRoom(settings.storage)
  const state = openStateDirectory(settings.stateDir)
  starting.defer(state.release)
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const pki = ensureClusterPki({
    directory: state.pki,
    nowMs: clock.now(),
    host: settings.host,
    serviceAddress: firstAddress(settings.serviceCidr),
    nodeName: settings.nodeName,
    altNames: settings.tlsSan,
  })
  // Beside the server, for which their programs need as long.
  const nodes = await nodesOf(state, names, { settings, guardian })
  if (nodes) starting.defer(() => nodes.kill())
  const log = createLog({ file: join(state.logs, 'apiserver.log'), level: settings.logLevel, component: 'apiserver' })
  if (guardian && guardian.restarts > 0)
    log.warn({ ending: guardian.ending, restarts: guardian.restarts }, 'the API server before this one ended by itself')
  const timeOriginMs = Math.floor(clock.now() / 1000) * 1000
  const clusterClock = createMovableClock(scaledClock(clock, { scale: settings.timeScale, originMs: timeOriginMs }))
  const controlPlane = await startControlPlane({
    ...settings,
    plugins,
    volumesDir: state.volumes,
    pki,
    clock: clusterClock,
    log,
    onTrouble,
  }).catch(explainListening(settings))
  starting.defer(controlPlane.close)
  const { url, client } = controlPlane
  await writeKubeconfig(state.kubeconfig, { name: 'kubestage', server: url, ca: pki.ca.cert, user: pki.admin })
  await nodes?.start({
    settings,
    state,
    pki,
    url,
    clock,
    clusterClock,
    timeOriginMs,
    client,
    nodeClient: controlPlane.nodeClient,
    log,
    onTrouble,
    onKubelet,
    simulated: names.simulated,
    simulatedApi: true,
  })
  if (nodes) starting.defer(() => nodes.stop())
  await controlPlane.instruments.snapshots.markStart()
  const running = starting.move()
  return {
    url,
    state,
    client,
    clock: clusterClock,
    nodeNames: names,
    kubeletPid: () => nodes?.kubeletPid(),
    kubeletPids: () => nodes?.kubeletPids() ?? [],
    stop: () => running.run(),
    async kill() {
      await nodes?.kill()
      state.release()
    },
  }
}

/** The first has the folders of the cluster itself; the program of a cluster without nodes is not loaded. */
async function nodesOf(
  state: StateDirectory,
  { real, simulated }: NodeNames,
  { settings, guardian }: Pick<ClusterOptions, 'settings' | 'guardian'>,
): Promise<Nodes | undefined> {
  if (real.length + simulated.length === 0) return undefined
  const [{ Nodes, nodeDirectory }, { stopMs }] = await Promise.all([
    import('./supervisor/nodes.ts'),
    import('./supervisor/node.ts'),
  ])
  const isKept = guardian !== undefined && settings.storage.engine !== 'memory'
  const fate: PodsFate = isKept
    ? { pods: 'kept', lifeLine: guardian.lifeLine, restarts: guardian.restarts, hold: guardian.hold }
    : { pods: 'stopped', graceMs: stopMs(settings) }
  const places = real.map((name, index) => ({ name, place: index === 0 ? state : nodeDirectory(state, name) }))
  return new Nodes(places, fate)
}
