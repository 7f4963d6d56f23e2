import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterPlugin, NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import { parseStorage } from '../apiserver/storage/open-storage.ts'
import { type ControlPlane, firstAddress, startControlPlane } from '../cluster/control-plane.ts'
import { explainListening } from '../cluster/explain-listening.ts'
import { numbered } from '../cluster/node-names.ts'
import type { ClusterSettings } from '../cluster/settings.ts'
import { clusterOptions } from '../cluster/settings.ts'
import { openStateDirectory, type StateDirectory } from '../cluster/state-directory.ts'
import type { Nodes } from '../cluster/supervisor/nodes.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { createMovableClock, type MovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { scaledClock } from '../shared/clock/scaled-clock.ts'
import { createVirtualClock } from '../shared/clock/virtual-clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import { commandMap } from '../shared/config/option-types.ts'
import { resolveOptions } from '../shared/config/resolve.ts'
import { createLog } from '../shared/log/log.ts'
import { ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { checkOptions } from './check-options.ts'
import type { Cluster, ClusterClock, ClusterFaults } from './cluster.ts'
import { toMs } from './duration.ts'
import { goesWithProcess } from './goes-with-process.ts'
import { createInject } from './inject.ts'
import { ClusterJournal } from './journal.ts'
import type { StartClusterOptions } from './options.ts'
import { createUsers } from './users.ts'
import { createWaiters, Terminations } from './waiters.ts'

const machine = realClock

/** What `startCluster` of `index.ts` does. */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  checkOptions(options)
  const { apiOnly = false, simulatedNodes = 0, time = 'real', onTrouble = () => {} } = options
  const nodes = apiOnly ? 0 : (options.nodes ?? (simulatedNodes > 0 || time === 'virtual' ? 0 : 1))

  await using starting = new Undo()
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), 'kubestage-'))
  if (options.stateDir === undefined) starting.defer(goesWithProcess(stateDir))
  const state = openStateDirectory(stateDir)
  starting.defer(state.release)
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const settings = await settingsFor(options)
  const { host, serviceCidr } = settings
  const pki = ensureClusterPki({
    directory: state.pki,
    nowMs: machine.now(),
    host,
    serviceAddress: firstAddress(serviceCidr),
    nodeName: 'node-1',
  })
  const started = nodes + simulatedNodes > 0 ? await nodesOf(state, nodes) : undefined
  if (started) starting.defer(() => started.kill())
  const log = createLog({ file: join(state.logs, 'apiserver.log'), level: settings.logLevel, component: 'apiserver' })
  const timeOriginMs = Math.floor(machine.now() / 1000) * 1000
  const clock = clockFor(time, timeOriginMs)
  const controlPlane = await startControlPlane({
    ...settings,
    volumesDir: state.volumes,
    storage: parseStorage(options.storage ?? 'memory'),
    controllers: apiOnly ? false : settings.controllers,
    journal: options.journal ?? 1000,
    plugins: options.plugins?.map(named),
    pki,
    clock,
    log,
  }).catch(explainListening(settings))
  starting.defer(controlPlane.close)
  const { url, client, instruments } = controlPlane
  await writeKubeconfig(state.kubeconfig, { name: 'kubestage', server: url, ca: pki.ca.cert, user: pki.admin })

  await started?.start({
    settings,
    state,
    pki,
    url,
    clock: machine,
    clusterClock: clock,
    timeOriginMs,
    client,
    nodeClient: controlPlane.nodeClient,
    log,
    onTrouble,
    simulated: numbered('simulated', simulatedNodes),
    simulatedSteps: options.simulatedSteps ?? time === 'virtual',
  })
  if (started) starting.defer(() => started.stop())
  await instruments.snapshots.markStart()

  const running = starting.move()
  const closing = new AbortController()
  const waiters = createWaiters(client, machine, closing.signal)
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing.abort(new Error('the cluster has been closed'))
    closed ??= running.run()
    return closed
  }
  return {
    ...waiters,
    ...createUsers({ server: url, ca: pki.ca, admin: pki.admin, clock: machine }),
    url,
    kubeconfig: readFileSync(state.kubeconfig, 'utf8'),
    kubeconfigFile: state.kubeconfig,
    access: { server: url, ca: pki.ca.cert, ...pki.admin },
    client,
    inject: createInject(controlPlane.inject, closing.signal),
    clock: clusterClock(clock, instruments),
    journal: new ClusterJournal(instruments.journal, machine, closing.signal),
    faults: clusterFaults(instruments),
    terminations: new Terminations(client, waiters),
    snapshot: () => instruments.snapshots.take(),
    restore: (snapshot) => instruments.snapshots.restore(snapshot),
    reset() {
      instruments.faults.clear()
      instruments.journal.clear()
      return instruments.snapshots.reset()
    },
    killKubelet(nodeName = 'node-1') {
      const pid = started?.kubeletPid(nodeName)
      if (pid === undefined) throw new Error(`node ${nodeName} has no kubelet with a process of its own`)
      process.kill(pid, 'SIGKILL')
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const named = (plugin: ClusterPlugin, index: number): NamedPlugin => ({
  name: plugin.name ? `plugin ${plugin.name}` : `plugins[${index}]`,
  plugin,
})

/** What `kubestage up` would make of its flags, with what was given instead. */
async function settingsFor(options: StartClusterOptions): Promise<ClusterSettings> {
  const { values } = await resolveOptions(clusterOptions, { args: [], env: {} })
  return {
    ...values,
    host: options.host ?? values.host,
    port: options.port ?? 0,
    http2: options.http2 ?? values.http2,
    serviceCidr: options.serviceCidr ?? values.serviceCidr,
    scheduler: options.scheduler ?? true,
    controllers: options.controllers ?? values.controllers,
    featureGates: { ...values.featureGates, ...options.featureGates },
    image: commandMap.fromFile(options.images ?? {}),
    imagePath: options.imagePaths ?? {},
    timeScale: typeof options.time === 'number' ? options.time : 1,
    shutdownGracePeriod: toMs(options.shutdownGracePeriod ?? '2s'),
  }
}

function clockFor(time: StartClusterOptions['time'], originMs: number): MovableClock {
  if (time === 'virtual') return createVirtualClock(originMs, machine)
  return createMovableClock(scaledClock(machine, { scale: typeof time === 'number' ? time : 1, originMs }))
}

const clusterClock = (clock: Clock, { time }: ControlPlane['instruments']): ClusterClock => ({
  now: () => clock.now(),
  advance: async (duration) => time?.advance(toMs(duration)),
})

function clusterFaults({ faults }: ControlPlane['instruments']): ClusterFaults {
  return {
    add(rule) {
      const { id } = faults.add(rule)
      const remove = (): void => {
        if (faults.list().some((fault) => fault.id === id)) faults.remove(id)
      }
      const hits = (): number => faults.list().find((fault) => fault.id === id)?.hits ?? 0
      return { id, hits, remove, [Symbol.dispose]: remove }
    },
    list: () => faults.list(),
    clear: () => faults.clear(),
  }
}

/** Each has its own folders; the program is loaded where there is one. */
async function nodesOf(state: StateDirectory, count: number): Promise<Nodes> {
  const { Nodes, nodeDirectory } = await import('../cluster/supervisor/nodes.ts')
  return new Nodes(numbered('node', count).map((name) => ({ name, place: nodeDirectory(state, name) })))
}
