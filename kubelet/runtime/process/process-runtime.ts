import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import {
  type ContainerConfig,
  type ContainerRecord,
  type ContainerRuntime,
  type ContainerUsage,
  type ExecOptions,
  type ExecResult,
  ImageError,
  type ProcessStreams,
  type ResolvedImage,
  type RuntimeCapabilities,
  type RuntimeEvent,
  type Sandbox,
  type SandboxConfig,
  StartError,
  type StreamedExecOptions,
} from '../container-runtime.ts'
import type { Images } from '../images/images.ts'
import { closeOutput, killContainer } from './container.ts'
import { containerEnvironment, containerLaunch } from './container-launch.ts'
import { removeLog } from './container-log.ts'
import { Containers } from './containers.ts'
import { Execs, type Startable } from './execs.ts'
import { throughMounts, whyNotExecutable, whyNoWorkingDir } from './executable.ts'
import { InputPipe } from './input-pipe.ts'
import { type Launch, launchScript, type Namespaces } from './launch-script.ts'
import { Leftovers } from './leftovers.ts'
import { newId } from './new-id.ts'
import { OutputStream } from './output-stream.ts'
import { createPipePool, type PipePool } from './pipe-pool.ts'
import { connectToPod } from './port-forward.ts'
import { receptionOf } from './proc-files.ts'
import { RecordStore, type StoredContainer } from './record-store.ts'
import { execFailure, noTask, startFailure } from './runtime-errors.ts'
import { Sandboxes } from './sandboxes.ts'
import { connectShim, runtimeDir, type ShimRequests, startShimAlone } from './shim.ts'
import { watchShimEvents } from './shim-events.ts'
import { sendSignal, signalNumber } from './signals.ts'
import { usageOf } from './usage.ts'

export interface ProcessRuntimeOptions {
  rootDir: string
  clock: Clock
  images: Images
  nodeIP: string
  /** The shim is our supervisor's child; otherwise we start one if none is there. */
  supervised: boolean
  capabilities: RuntimeCapabilities
  warn(message: string, fields: object): void
}

type PreparedExec = Startable | { code: 'NotFound' | 'Unknown'; problem: string }

const startTimeoutMs = 10_000
/** How long the dead may take to be reaped: the kubelet's runtime request timeout. */
const reapTimeoutMs = 120_000

/** Containers as processes of this machine, started by the shim. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<ContainerRuntime> {
  const { rootDir, clock, supervised } = options
  const store = new RecordStore(runtimeDir(rootDir), clock)
  if (!supervised && !existsSync(path.join(store.root, 'shim.pid'))) startShimAlone({ rootDir })
  const requests = await connectShim(rootDir, clock.machine)
  const runtime = new ProcessRuntime(options, store, requests)
  runtime.adopt()
  return runtime
}

class ProcessRuntime implements ContainerRuntime {
  readonly version = 'kubestage://0.1.0'
  readonly #options: ProcessRuntimeOptions
  readonly #store: RecordStore
  readonly #requests: ShimRequests
  readonly #sandboxes: Sandboxes
  readonly #containers: Containers
  readonly #execs: Execs
  readonly #leftovers: Leftovers
  readonly #batches = new Map<string, () => void>()
  readonly #pipes: PipePool
  readonly #events: { close(): void }
  #closed = false

  constructor(options: ProcessRuntimeOptions, store: RecordStore, requests: ShimRequests) {
    const { clock } = options
    this.#options = options
    this.#store = store
    this.#requests = requests
    this.#sandboxes = new Sandboxes({ store, clock, nodeIP: options.nodeIP })
    const used = new Set(store.containers().map(({ pipe }) => pipe))
    this.#pipes = createPipePool({
      root: store.root,
      free: store.pipes().filter((pipe) => !used.has(pipe)),
      makeBatch: (name, count) => this.#makePipes(name, count),
    })
    this.#containers = new Containers({ store, clock })
    this.#execs = new Execs({ store, requests, pipes: this.#pipes, clock })
    this.#leftovers = new Leftovers({ runtimeRoot: store.root, clock })
    this.#events = watchShimEvents(store.root, (id, kind) => this.#onShimEvent(id, kind))
  }

  /** Finds what an earlier kubelet left, and ends the commands that it was waiting for. */
  adopt(): void {
    for (const sandbox of this.#store.sandboxes().sort(byCreation)) this.#sandboxes.adopt(sandbox)
    for (const stored of this.#store.containers().sort(byCreation)) this.#containers.adopt(stored)
    this.#execs.endFormer()
  }

  capabilities(): RuntimeCapabilities {
    return this.#options.capabilities
  }

  async resolveImage(image: string, options: { policy: string; hasCommand?: boolean }): Promise<ResolvedImage> {
    try {
      return this.#options.images.resolve(image, options)
    } catch (error) {
      if (!(error instanceof ImageError) || error.reason !== 'ErrImagePull' || options.policy !== 'Never') throw error
      throw new ImageError('ErrImageNeverPull', `Container image "${image}" is not present with pull policy of Never`)
    }
  }

  async startSandbox(config: SandboxConfig): Promise<Sandbox> {
    return this.#sandboxes.start(config)
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (!sandbox || sandbox.state === 'notReady') return
    const containers = this.#containers.ofSandbox(sandboxId)
    await this.#leftovers.kill(containers)
    for (const container of containers) closeOutput(container)
    this.#sandboxes.stop(sandbox)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    await this.stopSandbox(sandboxId)
    for (const { stored } of this.#containers.ofSandbox(sandboxId))
      await this.removeContainer(stored.id, { logs: true })
    this.#sandboxes.forget(sandboxId)
  }

  async startContainer(config: ContainerConfig): Promise<ContainerRecord> {
    const { clock, capabilities } = this.#options
    const { isolation, files } = capabilities
    const sandbox = this.#sandboxes.get(config.sandboxId)
    if (!sandbox) throw new StartError(`sandbox "${config.sandboxId}" not found`)
    const id = newId()
    const env = this.#environment(config, sandbox, id)
    const workingDir = config.workingDir || '/'
    const hostPath = files === 'own' ? throughMounts(config.mounts ?? []) : undefined
    const problem =
      whyNoWorkingDir(workingDir, hostPath) ??
      whyNotExecutable(config.command, { searchPath: env.PATH ?? '', workingDir, hostPath })
    const stored: StoredContainer = {
      ...config,
      id,
      podUid: sandbox.podUid,
      createdAtMs: clock.now(),
      pipe: problem ? '' : await this.#pipes.take(),
      ...(config.stdin && !problem && { input: await this.#inputOf(config, id) }),
      isolated: isolation === 'pod' && !sandbox.shareProcessNamespace,
      ownFiles: files === 'own',
      ...(problem && { startError: startFailure(problem) }),
    }
    this.#store.saveContainer(stored)
    if (stored.startError) {
      this.#containers.addFailed(stored, stored.startError)
      throw new StartError(stored.startError)
    }
    const launch = containerLaunch(stored, { sandbox, files, env, workingDir, runtimeRoot: this.#store.root })
    this.#store.saveLaunch('containers', id, launchScript(launch))
    const container = this.#containers.follow(stored)
    this.#requests.run('containers', id)
    const late = clock.machine.setTimer(startTimeoutMs, () =>
      container.started.reject(new StartError('the shim did not start the process within 10 s')),
    )
    await container.started.promise.finally(() => late.cancel())
    return container.record
  }

  async stopContainer(
    containerId: string,
    { signal, gracePeriodMs, onSignal }: Parameters<ContainerRuntime['stopContainer']>[1],
  ): Promise<void> {
    const { clock } = this.#options
    const container = this.#containers.get(containerId)
    if (!container || container.record.state === 'exited') return
    if (gracePeriodMs > 0) {
      if (this.#store.stopSignal(containerId) === undefined) {
        this.#store.saveStopSignal(containerId, signal)
        // Asked before: a process that has ended tells nothing.
        const reception = onSignal && receptionOf(container.record.pid, signalNumber(signal))
        sendSignal(container.record.pid, signal)
        onSignal?.(signal, reception)
      }
      if (await withinLimit(container.exited.promise, gracePeriodMs, clock)) return
    }
    killContainer(container)
    onSignal?.('SIGKILL')
    if (await withinLimit(container.exited.promise, reapTimeoutMs, clock.machine)) return
    throw new Error(`container ${containerId} (process ${container.record.pid}) does not end, although it was killed`)
  }

  async removeContainer(containerId: string, { logs = false }: { logs?: boolean } = {}): Promise<void> {
    const container = this.#containers.get(containerId)
    if (!container) return
    if (container.record.state === 'running') throw new Error(`container ${containerId} is running`)
    if (this.#sandboxes.get(container.stored.sandboxId)?.state === 'ready') await this.#leftovers.kill([container])
    closeOutput(container)
    this.#containers.forget(containerId)
    this.#store.removeContainer(containerId)
    const { pipe, input, stdinOnce } = container.stored
    if (pipe) this.#pipes.give(pipe)
    if (input !== undefined && !stdinOnce) this.#pipes.give(input)
    if (logs) removeLog(container.stored.logPath)
  }

  async execSync(containerId: string, options: ExecOptions): Promise<ExecResult> {
    const found = this.#prepareExec(containerId, options)
    if ('launch' in found) return this.#execs.run(found, options)
    return { outcome: 'failed', output: '', message: `rpc error: code = ${found.code} desc = ${found.problem}` }
  }

  async exec(containerId: string, { command, stdin, tty }: StreamedExecOptions): Promise<ProcessStreams> {
    const found = this.#prepareExec(containerId, { command, env: tty ? { TERM: 'xterm' } : {} })
    if ('problem' in found) throw new StartError(found.problem)
    return tty ? this.#execs.onTerminal(found) : this.#execs.onPipes(found, { stdin })
  }

  async attach(containerId: string): Promise<ProcessStreams> {
    const container = this.#containers.get(containerId)
    if (!container?.output || container.record.state === 'exited') throw new StartError(noTask(containerId))
    const { reader, attached } = container.output
    const { stored, exited } = container
    const stdout = new OutputStream(reader)
    attached.add(stdout)
    stdout.on('close', () => attached.delete(stdout))
    let stdin = container.input
    if (stored.input !== undefined && !stored.stdinOnce) {
      stdin = new InputPipe()
      stdin.open(stored.input)
    }
    const exitCode = exited.promise.then(() => container.record.exitCode ?? 0)
    return { ...(stdin?.writable && { stdin }), stdout, exitCode }
  }

  async portForward(sandboxId: string, port: number): Promise<Duplex> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (sandbox?.state !== 'ready') throw new Error(`sandbox "${sandboxId}" is not running`)
    return connectToPod({ ip: sandbox.ip, port })
  }

  async list(podUid?: string): Promise<{ sandboxes: Sandbox[]; containers: ContainerRecord[] }> {
    const isWanted = (entry: { podUid: string }) => podUid === undefined || entry.podUid === podUid
    return {
      sandboxes: [...this.#sandboxes.all()].filter(isWanted),
      containers: [...this.#containers.all()].map(({ record }) => record).filter(isWanted),
    }
  }

  async usage(podUid?: string): Promise<ContainerUsage[]> {
    const running = [...this.#containers.all()].filter(({ record }) => record.state === 'running')
    const wanted = running.filter(({ record }) => podUid === undefined || record.podUid === podUid)
    return usageOf(wanted, this.#store.root)
  }

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    return this.#containers.onEvent(listener)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#execs.close()
    this.#events.close()
    const containers = [...this.#containers.all()]
    for (const container of containers) closeOutput(container)
    if (!this.#options.supervised && containers.length === 0) this.#requests.end()
    this.#requests.close()
  }

  /** What a command beside a container's process is started with, or, in containerd's words, why it cannot be. */
  #prepareExec(containerId: string, { command, env: added }: Pick<ExecOptions, 'command' | 'env'>): PreparedExec {
    const container = this.#containers.get(containerId)
    const sandbox = container && this.#sandboxes.get(container.stored.sandboxId)
    if (!container || !sandbox || container.record.state === 'exited') {
      return { code: 'NotFound', problem: `failed to exec in container: ${noTask(containerId)}` }
    }
    const { stored, record } = container
    const { isolated, ownFiles } = stored
    const { pid } = record
    const workingDir = stored.workingDir || '/'
    const env = { ...this.#environment(stored, sandbox, stored.id), ...added }
    const id = newId()
    const hostPath = ownFiles ? (file: string) => `/proc/${pid}/root${file}` : undefined
    const problem = whyNotExecutable(command, { searchPath: env.PATH ?? '', workingDir, hostPath })
    if (problem) return { code: 'Unknown', problem: execFailure(id, problem) }
    const namespaces: Namespaces =
      isolated || ownFiles ? { kind: 'enter', pid, processes: isolated, files: ownFiles } : { kind: 'none' }
    const launch: Launch = { command, env, workingDir, namespaces }
    return { id, launch }
  }

  #environment(config: ContainerConfig, { hostname }: Sandbox, containerId: string): Record<string, string> {
    return containerEnvironment(config, { hostname, runtimeRoot: this.#store.root, containerId })
  }

  /** One that the shim holds open never ends, and survives us; one that ends has to be ours alone. */
  async #inputOf({ stdinOnce }: ContainerConfig, id: string): Promise<string> {
    return stdinOnce ? this.#store.inputFile(id) : this.#pipes.take()
  }

  #onShimEvent(id: string, kind: string): void {
    const container = this.#containers.get(id)
    if (kind === 'pipes') {
      this.#batches.get(id)?.()
    } else if (kind === 'stdin') {
      const file = this.#store.inputFile(id)
      if (!existsSync(file)) return
      if (container) container.input?.open(file)
      else this.#execs.inputIsMade(id, file)
    } else if (container) {
      this.#containers.look(container)
    } else {
      this.#execs.look(id)
    }
  }

  async #makePipes(name: string, count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#batches.set(name, resolve)
    this.#requests.pipes(name, count)
    await promise.finally(() => this.#batches.delete(name))
  }
}

const byCreation = (a: { createdAtMs: number }, b: { createdAtMs: number }): number => a.createdAtMs - b.createdAtMs
