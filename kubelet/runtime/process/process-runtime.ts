import { rmSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import { logLink } from '../../pod/folders.ts'
import {
  type ContainerConfig,
  type ContainerRecord,
  type ContainerRuntime,
  type ContainerUsage,
  type ExecOptions,
  type ExecResult,
  type ImageRequest,
  type PodAddressing,
  type PodLimits,
  type PodSocket,
  type PortHolder,
  type ProcessStreams,
  type ReachedLimit,
  type ResolvedImage,
  type ResourceLimits,
  type RuntimeCapabilities,
  type RuntimeEvent,
  type Sandbox,
  type SandboxConfig,
  StartError,
  type StreamedExecOptions,
} from '../container-runtime.ts'
import { findImage, type Pulls } from '../images/find-image.ts'
import type { Images } from '../images/images.ts'
import { type LogLimits, removeLog } from '../log-files.ts'
import { Boot } from './boot.ts'
import type { Cgroups } from './cgroups/cgroups.ts'
import { clockFile, readMovedClock, tellOfMovedClock, writeMovedClock } from './clock-file.ts'
import { attachTo } from './containers/attach.ts'
import { type Container, closeOutput, killContainer } from './containers/container.ts'
import { Containers } from './containers/containers.ts'
import { LayerWatch } from './containers/layer-watch.ts'
import { Leftovers } from './containers/leftovers.ts'
import { PodUsers } from './containers/pod-users.ts'
import { networkOf, Sandboxes } from './containers/sandboxes.ts'
import { SignalRounds } from './containers/signal-rounds.ts'
import { stopContainer } from './containers/stop-container.ts'
import { usageOf } from './containers/usage.ts'
import { execLaunch } from './execs/exec-launch.ts'
import { Execs } from './execs/execs.ts'
import { containerLaunch } from './launch/container-launch.ts'
import { planContainer } from './launch/container-plan.ts'
import { shimLaunch } from './launch/launch.ts'
import { usersLevel } from './launch/program-user.ts'
import { MountedMemory } from './memory-folders.ts'
import type { PodNetworks } from './network/pod-networks.ts'
import { RecordStore } from './record-store.ts'
import { noTask, notStarted, startFailure, startTimeoutMs } from './runtime-errors.ts'
import { RuntimeGroups } from './runtime-groups.ts'
import { RuntimeNetwork } from './runtime-network.ts'
import { knowsCalls } from './seccomp/filter.ts'
import { KeptShim } from './shim/kept-shim.ts'
import { runtimeDir } from './shim/shim.ts'
import { shimNews } from './shim-news.ts'
import { ordinaryIdentity } from './view/identity.ts'
import { canHaveUsers } from './view/users-here.ts'

export interface ProcessRuntimeOptions {
  rootDir: string
  clock: Clock
  images: Images
  /** Brings what {@link images} does not have; by default nothing is pulled. */
  pulls?: Pulls
  nodeIP: string
  /** The shim is our supervisor's child; otherwise we start one if none is there. */
  supervised: boolean
  capabilities: RuntimeCapabilities
  ownNetworks?: boolean
  /** Names the folder in which nodes of this machine find the networks of each other. */
  neighbours?: string
  /** Files and folders that no container sees, beside `rootDir`. Absolute. */
  hidden?: readonly string[]
  /** Limits what a container's own layer holds; by default to half of the machine's memory. */
  layerBytes?: number
  /** Keeps containers within their limits; absent where nothing does. */
  cgroups?: Cgroups
  logs?: LogLimits
  warn(message: string, fields: object): void
}

/** Containers as processes of this machine, started by the shim. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<ContainerRuntime> {
  const networks = options.ownNetworks ? (await import('./network/pod-networks.ts')).PodNetworks : undefined
  const runtime = new ProcessRuntime(options, networks)
  await runtime.connect()
  return runtime
}

class ProcessRuntime implements ContainerRuntime {
  readonly version = 'kubestage://0.1.0'
  readonly memoryFolders?: MountedMemory
  readonly ownIpc: boolean
  readonly network?: PodNetworks
  readonly #options: ProcessRuntimeOptions
  readonly #store: RecordStore
  readonly #shim: KeptShim
  readonly #sandboxes: Sandboxes
  readonly #containers: Containers
  readonly #groups: RuntimeGroups
  readonly #network: RuntimeNetwork
  readonly #places: { runtimeRoot: string; clockFile: string }
  /** Files and folders that no container sees. */
  readonly #hidden: readonly string[]
  readonly #execs: Execs
  readonly #leftovers: Leftovers
  readonly #boot: Boot
  readonly #layers: LayerWatch | undefined
  readonly #rounds: SignalRounds
  /** The shim has ended, and none has been used since. */
  #isOff = false
  #isClosed = false

  constructor(options: ProcessRuntimeOptions, Networks: typeof PodNetworks | undefined) {
    const { rootDir, clock, supervised, nodeIP, capabilities, neighbours, warn } = options
    const store = new RecordStore(runtimeDir(rootDir))
    this.#options = options
    this.#store = store
    this.#places = { runtimeRoot: store.root, clockFile: clockFile(rootDir) }
    this.#hidden = [rootDir, ...(options.hidden ?? [])]
    const shim = () => this.#shim.connection
    // Non-root users cannot enter a PID namespace with a process that is to be signalled.
    const shares = capabilities.isolation === 'pod' && !ordinaryIdentity()
    this.ownIpc = shares
    if (Networks)
      this.network = new Networks({ root: store.root, clock, shim, neighbours, warn: (message) => warn(message, {}) })
    const users = shares && canHaveUsers() ? new PodUsers(store.root) : undefined
    this.#sandboxes = new Sandboxes({ store, clock, nodeIP, shares, shim, networks: this.network, users })
    this.#groups = new RuntimeGroups(options.cgroups, this.#sandboxes)
    this.#containers = new Containers({ store, clock, logs: options.logs, cgroups: this.#groups })
    const pods = { sandboxes: this.#sandboxes, containers: this.#containers }
    this.#network = new RuntimeNetwork({ root: store.root, nodeIP, networks: this.network, ...pods })
    this.#groups.watchPids(this.#containers, clock.machine)
    this.#execs = new Execs({ shim, clock })
    const parts = { containers: this.#containers, sandboxes: this.#sandboxes, execs: this.#execs }
    const listener = shimNews(parts, () => {
      this.#isOff = true
      this.network?.close()
      this.#loseAll()
    })
    this.#shim = new KeptShim({
      rootDir,
      clock,
      supervised,
      neighbours,
      listener,
      warn: (message) => warn(message, {}),
    })
    this.#leftovers = new Leftovers({ runtimeRoot: store.root, clock })
    this.#boot = new Boot(store.root)
    this.#rounds = new SignalRounds(clock)
    const mounts = capabilities.files !== 'host' && !ordinaryIdentity()
    if (mounts) this.memoryFolders = new MountedMemory({ shimIsReady: () => this.#shim.ready() })
    if (capabilities.isolation === 'pod') {
      this.#layers = new LayerWatch(
        () => this.#containers.all(),
        clock.machine,
        (container) => this.#containers.reached('containerLayerSize', container),
      )
    }
  }

  /** Finds what an earlier kubelet left. */
  async connect(): Promise<void> {
    const { rootDir } = this.#options
    writeMovedClock(rootDir, readMovedClock(rootDir))
    this.#groups.announce(this.#store.root)
    const known = await this.#shim.connect()
    this.network?.prepare()
    if (this.#boot.continues()) this.#forgetAllBut((id) => known.has(id))
    else this.#loseAll()
    this.#sandboxes.endOthers()
    this.#groups.keep([...this.#containers.all()].filter(({ record }) => record.state === 'running'))
  }

  bootId(): string | undefined {
    return this.#boot.id
  }

  async reboot(): Promise<void> {
    const containers = [...this.#containers.all()]
    for (const container of containers) if (container.record.state === 'running') killContainer(container)
    this.#loseAll()
    this.#boot.begin()
    await this.#leftovers.kill(containers)
    await this.memoryFolders?.unmountBelow(this.#options.rootDir)
  }

  capabilities(): RuntimeCapabilities {
    const { capabilities } = this.#options
    const seccomp = seccompLevel(capabilities)
    const { limited } = this.#groups
    const users = usersLevel(capabilities)
    return { ...capabilities, ...users, ...(seccomp && { seccomp }), ...(limited && { limits: limited }) }
  }

  resolveImage(image: string, options: ImageRequest): Promise<ResolvedImage> {
    return findImage(image, options, this.#options)
  }

  usePodAddresses(addressing: PodAddressing): Promise<string | undefined> {
    return this.#network.use(addressing)
  }

  async startSandbox(config: SandboxConfig): Promise<Sandbox> {
    await this.#shim.ready()
    if (this.#isOff) {
      this.#boot.begin()
      this.#groups.prepare()
    }
    this.#isOff = false
    const sandbox = this.#sandboxes.add(config)
    this.#groups.addPod(sandbox)
    try {
      await this.#network.add(sandbox)
      this.#sandboxes.startPause(sandbox)
      if (config.sysctls) await this.#sandboxes.pausePid(sandbox)
    } catch (error) {
      await this.removeSandbox(sandbox.id)
      throw error
    }
    return sandbox
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (!sandbox) return
    const containers = this.#containers.ofSandbox(sandboxId)
    if (sandbox.state === 'ready') await this.#leftovers.kill(containers)
    for (const container of containers) closeOutput(container)
    if (sandbox.state === 'ready') this.#sandboxes.stop(sandbox)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    await this.stopSandbox(sandboxId)
    for (const { stored } of this.#containers.ofSandbox(sandboxId))
      await this.removeContainer(stored.id, { logs: true })
    const sandbox = this.#sandboxes.get(sandboxId)
    this.#sandboxes.forget(sandboxId)
    if (sandbox) this.#groups.removePod(sandbox)
  }

  resize(podUid: string, limits: PodLimits, containers: ReadonlyMap<string, ResourceLimits>): void {
    for (const sandbox of this.#sandboxes.ofPod(podUid)) {
      if (sandbox.state !== 'ready') continue
      const running = this.#containers.ofSandbox(sandbox.id).filter(({ record }) => record.state === 'running')
      const byId = running.flatMap(({ stored: { id, name } }): [string, ResourceLimits][] => {
        const now = containers.get(name)
        return now ? [[id, now]] : []
      })
      this.#groups.resize(sandbox, limits, new Map(byId))
    }
  }

  async startContainer(config: ContainerConfig): Promise<ContainerRecord> {
    const { clock, capabilities, layerBytes } = this.#options
    const sandbox = this.#sandboxes.get(config.sandboxId)
    if (sandbox?.state !== 'ready') throw new StartError(`sandbox "${config.sandboxId}" not found`)
    await this.#shim.ready()
    const target = this.#targetOf(config)
    const nowMs = clock.now()
    const plan = planContainer(config, {
      sandbox,
      capabilities,
      hasTarget: target !== undefined,
      nowMs,
      ...this.#places,
    })
    const container = this.#containers.add(plan.stored)
    if (plan.problem) throw new StartError(startFailure(plan.problem))
    const { id, ownIpc, processes } = plan.stored
    const pausePid = await this.#sandboxes.pausePid(sandbox)
    const besidePid = processes === 'pod' ? (target?.record.pid ?? pausePid) : undefined
    const ipcPid = sandbox.sysctls && pausePid
    const limited = this.#groups.add(container, config.limits)
    const options = { sandbox, capabilities, besidePid, ipcPid, hidden: this.#hidden, layerBytes, ...this.#places }
    this.#shim.connection.run({
      id,
      containerId: id,
      hasInput: config.stdin,
      separateErrors: false,
      onTerminal: config.tty,
      ipcOf: ownIpc && !ipcPid && !ordinaryIdentity() ? sandbox.id : undefined,
      ...networkOf(sandbox),
      ...shimLaunch(containerLaunch(plan.stored, { ...plan, ...options, ...limited })),
    })
    if (!(await withinLimit(container.started.promise, startTimeoutMs, clock.machine))) {
      this.#giveUp(container, notStarted)
      throw new StartError(startFailure(notStarted))
    }
    return container.record
  }

  async stopContainer(containerId: string, options: Parameters<ContainerRuntime['stopContainer']>[1]): Promise<void> {
    const { clock, warn } = this.#options
    const container = this.#containers.get(containerId)
    if (!container || container.record.state === 'exited') return
    if (container.record.pid === 0) return this.#giveUp(container, 'it was stopped before it had started')
    const sandbox = this.#sandboxes.get(container.stored.sandboxId)
    await stopContainer(container, options, { store: this.#store, clock, rounds: this.#rounds, sandbox, warn })
  }

  async removeContainer(containerId: string, { logs = false }: { logs?: boolean } = {}): Promise<void> {
    const container = this.#containers.get(containerId)
    if (!container) return
    if (container.record.state === 'running') throw new Error(`container ${containerId} is running`)
    if (this.#sandboxes.get(container.stored.sandboxId)?.state === 'ready') await this.#leftovers.kill([container])
    closeOutput(container)
    const { logPath } = container.stored
    const link = logLink(logPath, containerId)
    if (link) rmSync(link.path, { force: true })
    this.#containers.remove(container)
    this.#shim.connection.forget(containerId)
    if (logs) removeLog(logPath)
  }

  async execSync(containerId: string, options: ExecOptions): Promise<ExecResult> {
    const found = this.#execLaunch(containerId, options)
    if ('launch' in found) return this.#execs.run({ ...found.launch, containerId }, options)
    return { outcome: 'failed', output: '', message: `rpc error: code = ${found.code} desc = ${found.problem}` }
  }

  async exec(containerId: string, { command, stdin, tty, size }: StreamedExecOptions): Promise<ProcessStreams> {
    const found = this.#execLaunch(containerId, { command, env: tty ? { TERM: 'xterm' } : {} })
    if ('problem' in found) throw new StartError(found.problem)
    return this.#execs.withStreams({ ...found.launch, size, containerId }, { stdin, tty })
  }

  async attach(containerId: string): Promise<ProcessStreams> {
    const container = this.#containers.get(containerId)
    const streams = container && attachTo(container, this.#shim.connection)
    if (!streams) throw new StartError(noTask(containerId))
    return streams
  }

  async portForward(sandboxId: string, port: number): Promise<Duplex> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (sandbox?.state !== 'ready') throw new Error(`sandbox "${sandboxId}" is not running`)
    return this.#network.connect(sandbox, port)
  }

  async list(podUid?: string): Promise<{ sandboxes: Sandbox[]; containers: ContainerRecord[] }> {
    if (podUid === undefined) {
      return { sandboxes: [...this.#sandboxes.all()], containers: [...this.#containers.all()].map(recordOf) }
    }
    const sandboxes = this.#sandboxes.ofPod(podUid)
    return { sandboxes, containers: sandboxes.flatMap(({ id }) => this.#containers.ofSandbox(id).map(recordOf)) }
  }

  async usage(podUid?: string): Promise<ContainerUsage[]> {
    const running = [...this.#containers.all()].filter(({ record }) => record.state === 'running')
    const wanted = running.filter(({ record }) => podUid === undefined || record.podUid === podUid)
    return usageOf(wanted, this.#store.root, (container) => this.#groups.usage(container))
  }

  portHolders(podUid: string, ports: ReadonlySet<number>): Promise<PortHolder[]> {
    return this.#network.holders(podUid, ports)
  }

  outsiderAt(podUid: string, socket: PodSocket): Promise<PortHolder | undefined> {
    return this.#network.outsider(podUid, socket)
  }

  onLimit(listener: (reached: ReachedLimit) => void): () => void {
    return this.#containers.onLimit(listener)
  }

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    return this.#containers.onEvent(listener)
  }

  onImagesChanged(listener: () => void): void {
    this.#options.images.onChange(listener)
  }

  timeMoved(movedMs: number, { isLast }: { isLast: boolean }): void {
    writeMovedClock(this.#options.rootDir, movedMs)
    if (!isLast) return
    for (const { record } of this.#containers.all()) {
      if (record.state === 'running' && record.pid > 0) tellOfMovedClock(record.pid)
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#layers?.close()
    this.#groups.close()
    await this.#execs.close()
    const containers = [...this.#containers.all()]
    for (const container of containers) {
      container.started.reject(new StartError('the kubelet ends'))
      closeOutput(container)
    }
    await this.#network.close({ isNeeded: containers.some(({ record }) => record.state === 'running') })
    // Ended containers are in the journal; containers that are being started end with the shim.
    const isNeeded = containers.some(({ record }) => record.state === 'running' && record.pid !== 0)
    if (!this.#options.supervised && !isNeeded) this.#shim.connection.end()
    const closed = this.#shim.close()
    this.#store.close()
    await closed
  }

  /** A container that the shim has not started is not wanted any more: the shim kills it if it starts it after all. */
  #giveUp(container: Container, why: string): void {
    this.#shim.connection.forget(container.stored.id)
    this.#containers.hasFailed(container, why)
  }

  /**
   * Leaves the state of a power loss. Sandboxes are lost first, because a pod whose container has ended is synced in
   * the next moment.
   */
  #loseAll(): void {
    this.#sandboxes.areLost()
    this.#forgetAllBut(() => false)
  }

  /** A container that the shim does not know has ended with an unknown exit code. */
  #forgetAllBut(isKnown: (id: string) => boolean): void {
    this.#execs.areLost()
    this.#sandboxes.pausesAreLost(isKnown)
    for (const container of this.#containers.all())
      if (!isKnown(container.stored.id)) this.#containers.isLost(container)
  }

  #execLaunch(id: string, options: Pick<ExecOptions, 'command' | 'env'>): ReturnType<typeof execLaunch> {
    const container = this.#containers.get(id)
    const sandbox = container && this.#sandboxes.get(container.stored.sandboxId)
    const entrances = container ? this.#groups.entrances(container) : []
    return execLaunch({ id, container, sandbox, entrances, ...this.#places }, options)
  }

  /** The container whose PID namespace it joins. */
  #targetOf({ sandboxId, target }: ContainerConfig): Container | undefined {
    if (ordinaryIdentity()) return undefined
    return this.#containers
      .ofSandbox(sandboxId)
      .find(({ stored, record }) => stored.name === target && stored.processes === 'own' && record.state === 'running')
  }
}

/** A filter needs root, or root of a namespace of users; else a process that can get no more privileges. */
function seccompLevel({ isolation }: RuntimeCapabilities): RuntimeCapabilities['seccomp'] {
  if (!knowsCalls()) return undefined
  return isolation === 'pod' || !ordinaryIdentity() ? 'always' : 'noNewPrivileges'
}

const recordOf = ({ record }: { record: ContainerRecord }): ContainerRecord => record
