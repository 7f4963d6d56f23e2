import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Instruments } from '../apiserver/http/api-context.ts'
import type { ClusterPlugin, NamedPlugin } from '../apiserver/http/plugins/plugin.ts'
import { parseStorage } from '../apiserver/storage/open-storage.ts'
import { type Cluster as RunningCluster, runCluster } from '../cluster/cluster.ts'
import { type ClusterSettings, clusterOptions } from '../cluster/settings.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { createVirtualClock } from '../shared/clock/virtual-clock.ts'
import { Undo } from '../shared/concurrency/undo.ts'
import { type ElectionFlags, electionOptions } from '../shared/config/election-options.ts'
import { defaultsOf } from '../shared/config/option.ts'
import { commandMap } from '../shared/config/option-types.ts'
import { checkOptions } from './check-options.ts'
import type { Cluster, ClusterClock, ClusterFaults } from './cluster.ts'
import { type Duration, toMs } from './duration.ts'
import { goesWithProcess } from './goes-with-process.ts'
import { createInject } from './inject.ts'
import { ClusterJournal } from './journal.ts'
import { limitsFrom } from './limits.ts'
import type { StartClusterOptions } from './options.ts'
import type { TestRecords } from './test-records.ts'
import { createUsers } from './users.ts'
import { createWaiters, Terminations } from './waiters.ts'

const machine = realClock

export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  checkOptions(options)
  await using starting = new Undo()
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), 'kubestage-'))
  if (options.stateDir === undefined) starting.defer(goesWithProcess(stateDir))
  const { apiOnly = false, time = 'real', onTrouble = () => {} } = options
  const cluster = await runCluster({
    settings: { ...settingsFor(options), stateDir },
    clock: machine,
    clusterClock: time === 'virtual' ? (originMs) => createVirtualClock(originMs, machine) : undefined,
    controllers: apiOnly ? false : undefined,
    plugins: options.plugins?.map(named),
    simulatedSteps: options.simulatedSteps ?? time === 'virtual',
    killsPods: true,
    onTrouble,
  })
  starting.defer(cluster.stop)
  const { url, pki, state, client, instruments, kubeletPid } = cluster

  const records = await recordsOf(options.recordOnFailure, cluster)
  if (records) starting.defer(() => records.close())
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
    inject: createInject(cluster.inject, closing.signal),
    clock: clusterClock(cluster.clock, instruments),
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
    afterTest: async (test) => records?.afterTest(test),
    async keepRecord(name, message) {
      if (!records) throw new Error('keepRecord needs a folder for records: startCluster({ recordOnFailure })')
      return records.keep(name, message)
    },
    killKubelet(nodeName = 'node-1') {
      const pid = kubeletPid(nodeName)
      if (pid === undefined) throw new Error(`node ${nodeName} has no kubelet with a process of its own`)
      process.kill(pid, 'SIGKILL')
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function recordsOf(folder: string | undefined, cluster: RunningCluster): Promise<TestRecords | undefined> {
  if (folder === undefined) return undefined
  const { TestRecords } = await import('./test-records.ts')
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  return new TestRecords({ folder, feed: await cluster.record(), clock: cluster.clock, machine, say })
}

const named = (plugin: ClusterPlugin, index: number): NamedPlugin => ({
  name: plugin.name ? `plugin ${plugin.name}` : `plugins[${index}]`,
  plugin,
})

/** Returns the settings that `kubestage up` has by default, with the given options in their place. */
function settingsFor(options: StartClusterOptions): ClusterSettings {
  const { apiOnly = false, simulatedNodes = 0, time = 'real' } = options
  const values = defaultsOf(clusterOptions)
  return {
    ...values,
    ...electionFlags(options),
    ...limitsFrom(options.limits ?? {}),
    nodes: apiOnly ? 0 : (options.nodes ?? (simulatedNodes > 0 || time === 'virtual' ? 0 : 1)),
    simulatedNodes,
    storage: parseStorage(options.storage ?? 'memory'),
    etcdCafile: options.etcdCafile ?? values.etcdCafile,
    etcdCertfile: options.etcdCertfile ?? values.etcdCertfile,
    etcdKeyfile: options.etcdKeyfile ?? values.etcdKeyfile,
    etcdPrefix: options.etcdPrefix ?? values.etcdPrefix,
    journal: options.journal ?? 1000,
    host: options.host ?? values.host,
    port: options.port ?? 0,
    http2: options.http2 ?? values.http2,
    serviceCidr: options.serviceCidr ?? values.serviceCidr,
    scheduler: options.scheduler ?? true,
    controllers: options.controllers ?? values.controllers,
    featureGates: { ...values.featureGates, ...options.featureGates },
    image: commandMap.fromFile(options.images ?? {}),
    imagePath: options.imagePaths ?? {},
    imageStore: options.imageStore ?? values.imageStore,
    pullImages: options.pullImages ?? values.pullImages,
    network: options.network ?? values.network,
    strict: options.strict ?? values.strict,
    timeScale: typeof time === 'number' ? time : 1,
    shutdownGracePeriod: toMs(options.shutdownGracePeriod ?? '2s'),
  }
}

/** Returns the options about leader election that were given, in milliseconds. */
function electionFlags(options: StartClusterOptions): Partial<ElectionFlags> {
  const names = Object.keys(electionOptions) as (keyof ElectionFlags)[]
  const given = names.filter((name) => options[name] !== undefined)
  const flagOf = (name: keyof ElectionFlags) => {
    const value = options[name]
    return typeof electionOptions[name].default === 'number' ? toMs(value as Duration) : value
  }
  return Object.fromEntries(given.map((name) => [name, flagOf(name)]))
}

const clusterClock = (clock: Clock, { time }: Instruments): ClusterClock => ({
  now: () => clock.now(),
  advance: async (duration) => time?.advance(toMs(duration)),
})

function clusterFaults({ faults }: Instruments): ClusterFaults {
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
