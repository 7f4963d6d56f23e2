import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, realpathSync, rmSync, unlinkSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../shared/clock/clock.ts'
import {
  type ContainerConfig,
  type ContainerRecord,
  type ContainerRuntime,
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
import { PodAddresses } from './addresses.ts'
import { ContainerLog } from './container-log.ts'
import { type ContainerView, callsOf, viewWords } from './container-view.ts'
import { throughMounts, whyNotExecutable, whyNoWorkingDir } from './executable.ts'
import { InputPipe } from './input-pipe.ts'
import { currentHostMounts, scratchDir, viewMounts } from './isolation.ts'
import { type Launch, launchers, launchScript, type Namespaces, variables } from './launch-script.ts'
import { markedProcesses, marker, markerOf, markerVariable } from './marker.ts'
import { OutputStream } from './output-stream.ts'
import { OutputWindow } from './output-window.ts'
import { createPipePool, type PipePool } from './pipe-pool.ts'
import { type PipeReader, readPipe } from './pipe-reader.ts'
import { connectToPod } from './port-forward.ts'
import { childOf, exists, programOf, receptionOf } from './proc-files.ts'
import { RecordStore, type Started, type StoredContainer } from './record-store.ts'
import { connectShim, defaultPath, runtimeDir, type ShimRequests, startShimAlone } from './shim.ts'
import { watchShimEvents } from './shim-events.ts'
import { isGroupAlive, sendSignal, signalNumber } from './signals.ts'
import { startOnTerminal } from './terminal.ts'

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

interface Container {
  readonly stored: StoredContainer
  record: ContainerRecord
  /** The shim's child and the leader of the process group: the container's process, or the one that made its namespaces. */
  jobPid: number
  /** While its output may still grow. */
  output?: { reader: PipeReader; log: ContainerLog; attached: Set<OutputStream> }
  /** Of a container with `stdinOnce`: its only writing end, and so ours to close. */
  input?: InputPipe
  readonly started: PromiseWithResolvers<void>
  readonly exited: PromiseWithResolvers<void>
}
interface Exec {
  pid: number
  /** To be killed as soon as it is known what to kill. */
  killed: boolean
  input?: InputPipe
  ended: PromiseWithResolvers<number>
}

interface Startable {
  id: string
  launch: Launch
}
type PreparedExec = Startable | { code: 'NotFound' | 'Unknown'; problem: string }
interface ListenedPipe {
  pipe: string
  reader: PipeReader
  stream: OutputStream
}

const exitStart = 128
const exitKilled = 137
const exitLost = 255
const startTimeoutMs = 10_000
/** How long the dead may take to be reaped: the kubelet's runtime request timeout. */
const reapTimeoutMs = 120_000
/** How long the shim may take to tell of an exit. */
const exitReportTimeoutMs = 2_000
const closeTimeoutMs = 1_000
/** How long a program may run in its new namespaces without being seen. */
const longestLookMs = 8
const defaultExecOutputBytes = 10 * 1024

/** Containers as processes of this machine, started by the shim. */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<ContainerRuntime> {
  const { rootDir, clock, supervised } = options
  const store = new RecordStore(runtimeDir(rootDir))
  if (!supervised && !existsSync(path.join(store.root, 'shim.pid'))) startShimAlone({ rootDir })
  const requests = await connectShim(rootDir, clock)
  const runtime = new ProcessRuntime(options, store, requests)
  await runtime.adopt()
  return runtime
}

class ProcessRuntime implements ContainerRuntime {
  readonly version = 'kubestage://0.1.0'
  readonly #options: ProcessRuntimeOptions
  readonly #store: RecordStore
  readonly #requests: ShimRequests
  readonly #addresses: PodAddresses
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #containers = new Map<string, Container>()
  readonly #execs = new Map<string, Exec>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  readonly #batches = new Map<string, () => void>()
  readonly #pipes: PipePool
  readonly #events: { close(): void }
  #closed = false
  #scan: Promise<Map<string, number[]>> | undefined
  #nextScan = 0

  constructor(options: ProcessRuntimeOptions, store: RecordStore, requests: ShimRequests) {
    this.#options = options
    this.#store = store
    this.#requests = requests
    this.#addresses = new PodAddresses(options.rootDir)
    const used = new Set(store.containers().map(({ pipe }) => pipe))
    this.#pipes = createPipePool({
      root: store.root,
      free: store.pipes().filter((pipe) => !used.has(pipe)),
      makeBatch: (name, count) => this.#makePipes(name, count),
    })
    this.#events = watchShimEvents(store.root, (id, kind) => this.#onShimEvent(id, kind))
  }

  /** Finds what an earlier kubelet left, and ends the commands that it was waiting for. */
  async adopt(): Promise<void> {
    for (const sandbox of this.#store.sandboxes().sort(byCreation)) {
      this.#sandboxes.set(sandbox.id, sandbox)
      if (!sandbox.hostNetwork) this.#addresses.keep(sandbox.ip)
    }
    for (const stored of this.#store.containers().sort(byCreation)) this.#adoptContainer(stored)
    for (const id of this.#store.execs()) {
      const started = this.#store.started(id)
      const isRunning = started !== undefined && this.#store.isOfThisShim(started) && !this.#store.exited(id)
      if (isRunning) sendSignal(-started.pid, 'SIGKILL')
      this.#store.removeExec(id)
    }
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
    const ownAddress = !config.hostNetwork && process.platform === 'linux'
    const sandbox: Sandbox = {
      ...config,
      id: newId(),
      ip: ownAddress ? this.#addresses.take() : this.#options.nodeIP,
      state: 'ready',
      createdAtMs: this.#options.clock.now(),
    }
    this.#store.saveSandbox(sandbox)
    this.#sandboxes.set(sandbox.id, sandbox)
    return sandbox
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (!sandbox || sandbox.state === 'notReady') return
    const containers = this.#of(sandboxId)
    await this.#killLeftovers(containers)
    for (const container of containers) this.#closeOutput(container)
    const stopped: Sandbox = { ...sandbox, state: 'notReady' }
    this.#sandboxes.set(sandboxId, stopped)
    this.#store.saveSandbox(stopped)
    if (!sandbox.hostNetwork) this.#addresses.give(sandbox.ip)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    await this.stopSandbox(sandboxId)
    for (const { stored } of this.#of(sandboxId)) await this.removeContainer(stored.id, { logs: true })
    this.#sandboxes.delete(sandboxId)
    this.#store.removeSandbox(sandboxId)
  }

  async startContainer(config: ContainerConfig): Promise<ContainerRecord> {
    const sandbox = this.#sandboxes.get(config.sandboxId)
    if (!sandbox) throw new StartError(`sandbox "${config.sandboxId}" not found`)
    const id = newId()
    const env = this.#environment(config, sandbox, id)
    const workingDir = config.workingDir || '/'
    const { isolation, files } = this.#options.capabilities
    const hostPath = files === 'own' ? throughMounts(config.mounts ?? []) : undefined
    const startError =
      whyNoWorkingDir(workingDir, hostPath) ??
      whyNotExecutable(config.command, { searchPath: env.PATH ?? '', workingDir, hostPath })
    const stored: StoredContainer = {
      ...config,
      id,
      podUid: sandbox.podUid,
      createdAtMs: this.#options.clock.now(),
      pipe: startError ? '' : await this.#pipes.take(),
      ...(config.stdin && !startError && { input: await this.#inputOf(config, id) }),
      isolated: isolation === 'pod' && !sandbox.shareProcessNamespace,
      ownFiles: files === 'own',
      ...(startError && { startError: startFailure(startError) }),
    }
    this.#store.saveContainer(stored)
    if (stored.startError) {
      this.#containers.set(id, settled(stored, failedRecord(stored, stored.startError)))
      throw new StartError(stored.startError)
    }
    const namespaces = this.#namespaces(stored, sandbox, { env, workingDir })
    const input = stored.input === undefined ? undefined : { pipe: stored.input, made: !config.stdinOnce }
    const launch = { command: config.command, env, workingDir, input, output: stored.pipe, namespaces }
    this.#store.saveLaunch('containers', id, launchScript(launch))
    const container = this.#follow(stored)
    this.#requests.run('containers', id)
    const late = this.#options.clock.setTimer(startTimeoutMs, () =>
      container.started.reject(new StartError('the shim did not start the process within 10 s')),
    )
    await container.started.promise.finally(() => late.cancel())
    return container.record
  }

  async stopContainer(
    containerId: string,
    { signal, gracePeriodMs, onSignal }: Parameters<ContainerRuntime['stopContainer']>[1],
  ): Promise<void> {
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
      if (await this.#within(container.exited.promise, gracePeriodMs)) return
    }
    kill(container)
    onSignal?.('SIGKILL')
    if (await this.#within(container.exited.promise, reapTimeoutMs)) return
    throw new Error(`container ${containerId} (process ${container.record.pid}) does not end, although it was killed`)
  }

  async removeContainer(containerId: string, { logs = false }: { logs?: boolean } = {}): Promise<void> {
    const container = this.#containers.get(containerId)
    if (!container) return
    if (container.record.state === 'running') throw new Error(`container ${containerId} is running`)
    if (this.#sandboxes.get(container.stored.sandboxId)?.state === 'ready') await this.#killLeftovers([container])
    this.#closeOutput(container)
    this.#containers.delete(containerId)
    this.#store.removeContainer(containerId)
    const { pipe, input, stdinOnce } = container.stored
    if (pipe) this.#pipes.give(pipe)
    if (input !== undefined && !stdinOnce) this.#pipes.give(input)
    if (logs) removeLog(container.stored.logPath)
  }

  async execSync(containerId: string, options: ExecOptions): Promise<ExecResult> {
    const found = this.#prepareExec(containerId, options)
    if ('problem' in found) {
      return { outcome: 'failed', output: '', message: `rpc error: code = ${found.code} desc = ${found.problem}` }
    }
    options.signal?.throwIfAborted()
    const { id } = found
    const output = new OutputWindow(options.maxOutputBytes ?? defaultExecOutputBytes)
    const pipe = await this.#pipes.take()
    const reader = readPipe(pipe, (data) => output.add(data))
    const exec = this.#startExec(id, { ...found.launch, output: pipe })
    try {
      const exitCode = await this.#execEnds(exec, options)
      reader.drain()
      return exitCode === 'timeout'
        ? { outcome: 'timeout', output: output.toString() }
        : { outcome: 'exited', exitCode, output: output.toString() }
    } finally {
      reader.close()
      this.#forgetExec(id)
      this.#pipes.give(pipe)
    }
  }

  async exec(containerId: string, { command, stdin, tty }: StreamedExecOptions): Promise<ProcessStreams> {
    const found = this.#prepareExec(containerId, { command, env: tty ? { TERM: 'xterm' } : {} })
    if ('problem' in found) throw new StartError(found.problem)
    return tty ? this.#execOnTerminal(found) : this.#execOnPipes(found, { stdin })
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
      sandboxes: [...this.#sandboxes.values()].filter(isWanted),
      containers: [...this.#containers.values()].map(({ record }) => record).filter(isWanted),
    }
  }

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const exec of this.#execs.values()) killExec(exec)
    await this.#within(Promise.all([...this.#execs.values()].map(({ ended }) => ended.promise)), closeTimeoutMs)
    for (const exec of this.#execs.values()) exec.ended.resolve(exitKilled)
    this.#events.close()
    for (const container of this.#containers.values()) this.#closeOutput(container)
    if (!this.#options.supervised && this.#containers.size === 0) this.#requests.end()
    this.#requests.close()
  }

  /** What a command beside a container's process is started with, or, in containerd's words, why it cannot be. */
  #prepareExec(containerId: string, { command, env: added }: Pick<ExecOptions, 'command' | 'env'>): PreparedExec {
    const container = this.#containers.get(containerId)
    const sandbox = container && this.#sandboxes.get(container.stored.sandboxId)
    if (!container || !sandbox || container.record.state === 'exited') {
      return { code: 'NotFound', problem: `failed to exec in container: ${noTask(containerId)}` }
    }
    const { stored } = container
    const workingDir = stored.workingDir || '/'
    const env = { ...this.#environment(stored, sandbox, stored.id), ...added }
    const id = newId()
    const { isolated, ownFiles } = stored
    const { pid } = container.record
    const hostPath = ownFiles ? (file: string) => `/proc/${pid}/root${file}` : undefined
    const problem = whyNotExecutable(command, { searchPath: env.PATH ?? '', workingDir, hostPath })
    if (problem) return { code: 'Unknown', problem: execFailure(id, problem) }
    const namespaces: Namespaces =
      isolated || ownFiles ? { kind: 'enter', pid, processes: isolated, files: ownFiles } : { kind: 'none' }
    return { id, launch: { command, env, workingDir, namespaces } }
  }

  #startExec(id: string, launch: Launch): Exec {
    this.#store.saveLaunch('execs', id, launchScript(launch))
    const exec: Exec = { pid: 0, killed: false, ended: Promise.withResolvers<number>() }
    if (launch.input) exec.input = new InputPipe()
    this.#execs.set(id, exec)
    this.#requests.run('execs', id)
    return exec
  }

  #forgetExec(id: string): void {
    this.#execs.delete(id)
    this.#store.removeExec(id)
  }

  async #execOnPipes({ id, launch }: Startable, { stdin }: { stdin: boolean }): Promise<ProcessStreams> {
    const outputs = await Promise.all([0, 1].map(() => this.#listenTo()))
    const [stdout, stderr] = outputs as [ListenedPipe, ListenedPipe]
    const input = stdin ? { pipe: this.#store.inputFile(id), made: false } : undefined
    const exec = this.#startExec(id, { ...launch, input, output: stdout.pipe, errors: stderr.pipe })
    const exitCode = exec.ended.promise.then((code) => {
      for (const { reader, stream, pipe } of outputs) {
        reader.drain()
        reader.close()
        stream.end()
        // What the command left behind may still print.
        if (!isGroupAlive(exec.pid)) this.#pipes.give(pipe)
      }
      exec.input?.destroy()
      this.#forgetExec(id)
      return code
    })
    return { ...(exec.input && { stdin: exec.input }), stdout: stdout.stream, stderr: stderr.stream, exitCode }
  }

  async #listenTo(): Promise<ListenedPipe> {
    const pipe = await this.#pipes.take()
    const reader = readPipe(pipe, (data) => stream.add(data))
    const stream = new OutputStream(reader)
    return { pipe, reader, stream }
  }

  async #execOnTerminal({ id, launch }: Startable): Promise<ProcessStreams> {
    this.#store.saveLaunch('execs', id, launchScript(launch))
    const streams = await startOnTerminal(this.#store.launchFile('execs', id)).catch((error: unknown) => {
      this.#store.removeExec(id)
      throw error
    })
    void streams.exitCode.then(() => this.#store.removeExec(id))
    return streams
  }

  /** One that the shim holds open never ends, and survives us; one that ends has to be ours alone. */
  async #inputOf({ stdinOnce }: ContainerConfig, id: string): Promise<string> {
    return stdinOnce ? this.#store.inputFile(id) : this.#pipes.take()
  }

  #adoptContainer(stored: StoredContainer): void {
    if (stored.startError) {
      this.#containers.set(stored.id, settled(stored, failedRecord(stored, stored.startError)))
      return
    }
    const started = this.#store.started(stored.id)
    const exited = this.#store.exited(stored.id)
    // Pipes are made anew by each shim: with its pipe the container has a shim that waits for it.
    const isWatched = existsSync(stored.pipe)
    if (!started || !(exited || isWatched)) {
      this.#containers.set(stored.id, settled(stored, this.#lost(stored, started)))
      return
    }
    if (exited && !isWatched) {
      const record = { ...baseRecord(stored, started.pid), startedAtMs: started.atMs }
      this.#containers.set(stored.id, settled(stored, ended(record, exited)))
      return
    }
    const container = this.#follow(stored)
    if (stored.stdinOnce && stored.input !== undefined && existsSync(stored.input)) container.input?.open(stored.input)
    this.#noteStart(container)
    this.#noteExit(container)
    if (container.record.state === 'running' && !exists(started.pid)) this.#expectExit(container)
  }

  /** It has ended and the shim is about to say so; if it does not, whoever could have is gone. */
  #expectExit(container: Container): void {
    this.#options.clock.setTimer(exitReportTimeoutMs, () => {
      if (container.record.state === 'exited') return
      this.#end(
        container,
        this.#lost(container.stored, { pid: container.record.pid, atMs: container.record.startedAtMs }),
      )
    })
  }

  #lost(stored: StoredContainer, started?: Started): ContainerRecord {
    return {
      ...baseRecord(stored, started?.pid ?? 0),
      startedAtMs: started?.atMs ?? stored.createdAtMs,
      state: 'exited',
      exitCode: exitLost,
      reason: 'Unknown',
      finishedAtMs: this.#options.clock.now(),
    }
  }

  #follow(stored: StoredContainer): Container {
    const log = new ContainerLog(stored.logPath, this.#options.clock)
    const attached = new Set<OutputStream>()
    const reader = readPipe(stored.pipe, (data) => {
      log.write(data)
      for (const stream of attached) stream.add(data)
    })
    const container: Container = {
      stored,
      record: { ...baseRecord(stored, 0), startedAtMs: stored.createdAtMs },
      jobPid: 0,
      output: { reader, log, attached },
      ...(stored.stdinOnce && { input: new InputPipe() }),
      started: Promise.withResolvers<void>(),
      exited: Promise.withResolvers<void>(),
    }
    container.started.promise.catch(() => {})
    this.#containers.set(stored.id, container)
    return container
  }

  #onShimEvent(id: string, kind: string): void {
    if (kind === 'pipes') {
      this.#batches.get(id)?.()
      return
    }
    const container = this.#containers.get(id)
    if (kind === 'stdin') {
      const file = this.#store.inputFile(id)
      if (existsSync(file)) (container ?? this.#execs.get(id))?.input?.open(file)
      return
    }
    if (container) {
      this.#noteStart(container)
      this.#noteExit(container)
      return
    }
    const exec = this.#execs.get(id)
    if (!exec) return
    if (exec.pid === 0) {
      exec.pid = this.#store.started(id)?.pid ?? 0
      if (exec.killed) killExec(exec)
    }
    const exited = this.#store.exited(id)
    if (exited) exec.ended.resolve(exited.code)
  }

  #noteStart(container: Container): void {
    if (container.jobPid !== 0) return
    const started = this.#store.started(container.stored.id)
    if (!started) return
    container.jobPid = started.pid
    if (container.record.state === 'exited') {
      // Asked for by a kubelet that died, and given up for lost by this one.
      sendSignal(-started.pid, 'SIGKILL')
      return
    }
    const known = this.#store.program(container.stored.id)
    if (!container.stored.isolated && !container.stored.ownFiles) this.#hasStarted(container, started)
    else if (known !== undefined) this.#hasStarted(container, { ...started, pid: known })
    else this.#awaitProgram(container, started)
  }

  /** Its namespaces are complete, and can be entered, when the program itself runs in them; nobody tells when that is. */
  #awaitProgram(container: Container, started: Started, afterMs = 1): void {
    if (container.record.state === 'exited') return
    const pid = container.stored.isolated ? childOf(started.pid) : started.pid
    if (pid === undefined || !this.#isProgram(pid, container)) {
      this.#options.clock.setTimer(afterMs, () =>
        this.#awaitProgram(container, started, Math.min(2 * afterMs, longestLookMs)),
      )
      return
    }
    this.#store.saveProgram(container.stored.id, pid)
    this.#hasStarted(container, { ...started, pid })
  }

  /** Its mark tells; a program that writes its title over its environment is known by not being one of those that we put before it. */
  #isProgram(pid: number, { stored }: Container): boolean {
    const program = programOf(pid)
    if (program === undefined) return false
    return markerOf(pid) === marker(this.#store.root, stored.id) || !launcherFiles().includes(program)
  }

  #hasStarted(container: Container, { pid, atMs }: Started): void {
    container.record = { ...container.record, pid, startedAtMs: atMs }
    container.started.resolve()
    this.#tell('started', container)
  }

  #noteExit(container: Container): void {
    if (container.record.state === 'exited' || container.jobPid === 0) return
    const exited = this.#store.exited(container.stored.id)
    if (!exited) return
    // A program may have ended before it was seen.
    if (container.record.pid === 0) this.#hasStarted(container, { pid: container.jobPid, atMs: exited.atMs })
    this.#end(container, ended(container.record, exited))
  }

  #end(container: Container, record: ContainerRecord): void {
    container.output?.reader.drain()
    container.output?.log.flush()
    for (const stream of container.output?.attached ?? []) stream.end()
    container.input?.destroy()
    container.record = record
    container.exited.resolve()
    this.#tell('exited', container)
  }

  #tell(type: RuntimeEvent['type'], { record }: Container): void {
    for (const listener of this.#listeners) listener({ type, podUid: record.podUid, containerId: record.id })
  }

  #of(sandboxId: string): Container[] {
    return [...this.#containers.values()].filter(({ stored }) => stored.sandboxId === sandboxId)
  }

  #namespaces(
    stored: StoredContainer,
    { hostname, hostNetwork }: Sandbox,
    { env, workingDir }: { env: Record<string, string>; workingDir: string },
  ): Namespaces {
    const { files } = this.#options.capabilities
    const numbers = callsOf(process.arch)
    if (files === 'host' || !numbers) return { kind: stored.isolated ? 'new' : 'none' }
    const view: ContainerView = {
      files,
      scratch: scratchDir(this.#store.root),
      hostMounts: files === 'own' ? currentHostMounts() : [],
      mounts: viewMounts(stored.mounts ?? [], files),
      ownProcesses: stored.isolated,
      ...(!hostNetwork && { hostname }),
      workingDir,
      env: variables(env),
      command: stored.command,
    }
    return { kind: 'view', words: viewWords(view, numbers) }
  }

  #environment(config: ContainerConfig, sandbox: Sandbox, containerId: string): Record<string, string> {
    const searchPath = [...config.path, config.env.PATH || defaultPath].join(':')
    return {
      HOSTNAME: sandbox.hostname,
      HOME: os.homedir(),
      ...config.env,
      PATH: searchPath,
      [markerVariable]: marker(this.#store.root, containerId),
    }
  }

  async #within(done: Promise<unknown>, timeoutMs: number): Promise<boolean> {
    const late = Promise.withResolvers<'late'>()
    const timer = this.#options.clock.setTimer(timeoutMs, () => late.resolve('late'))
    const first = await Promise.race([done, late.promise])
    timer.cancel()
    return first !== 'late'
  }

  async #execEnds(exec: Exec, { timeoutMs, signal }: ExecOptions): Promise<number | 'timeout'> {
    let timedOut = false
    const kill = () => killExec(exec)
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#options.clock.setTimer(timeoutMs, () => {
            timedOut = true
            kill()
          })
    if (signal?.aborted) kill()
    else signal?.addEventListener('abort', kill, { once: true })
    try {
      const code = await exec.ended.promise
      return timedOut ? 'timeout' : code
    } finally {
      timer?.cancel()
      signal?.removeEventListener('abort', kill)
    }
  }

  /** Whatever a container started and left, wherever it went: found by its mark. */
  async #killLeftovers(containers: Container[]): Promise<void> {
    const started = containers.filter(({ jobPid }) => jobPid !== 0)
    for (const container of started) {
      const { stored, record } = container
      const isLeft = record.state === 'running' || markerOf(record.pid) === marker(this.#store.root, stored.id)
      if (isLeft) kill(container)
    }
    const scattered = started.filter(({ stored }) => !stored.isolated)
    if (scattered.length === 0 || process.platform !== 'linux') return
    const marked = await this.#scanProcesses()
    for (const { stored } of scattered) {
      for (const pid of marked.get(marker(this.#store.root, stored.id)) ?? []) sendSignal(pid, 'SIGKILL')
    }
  }

  /** One walk for all who ask meanwhile; under load it takes its time, so that walking stays a quarter of the work at most. */
  #scanProcesses(): Promise<Map<string, number[]>> {
    const { clock } = this.#options
    this.#scan ??= clock.sleep(Math.max(0, this.#nextScan - clock.monotonic())).then(() => {
      const startedAt = clock.monotonic()
      const found = markedProcesses()
      this.#nextScan = clock.monotonic() + 3 * (clock.monotonic() - startedAt)
      this.#scan = undefined
      return found
    })
    return this.#scan
  }

  #closeOutput(container: Container): void {
    if (!container.output) return
    container.output.reader.drain()
    container.output.reader.close()
    container.output.log.close()
    container.output = undefined
  }

  async #makePipes(name: string, count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#batches.set(name, resolve)
    this.#requests.pipes(name, count)
    await promise.finally(() => this.#batches.delete(name))
  }
}

/** Their real paths: `/bin/sh` is mostly another's name. */
let realLaunchers: string[] | undefined
function launcherFiles(): string[] {
  realLaunchers ??= launchers.filter((file) => existsSync(file)).map((file) => realpathSync(file))
  return realLaunchers
}

const newId = (): string => randomBytes(32).toString('hex')
const byCreation = (a: { createdAtMs: number }, b: { createdAtMs: number }): number => a.createdAtMs - b.createdAtMs

/** In the words of containerd and runc. */
const startFailure = (problem: string): string =>
  `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ${problem}`

const noTask = (id: string): string => `failed to load task: no running task found: task ${id} not found`

const execFailure = (id: string, problem: string): string =>
  `failed to exec in container: failed to start exec "${id}": OCI runtime exec failed: exec failed: unable to start container process: ${problem}: unknown`

function baseRecord(stored: StoredContainer, pid: number): Omit<ContainerRecord, 'startedAtMs'> {
  const { id, sandboxId, podUid, name, attempt, image, imageId, logPath, createdAtMs, annotations } = stored
  return {
    id,
    sandboxId,
    podUid,
    name,
    attempt,
    image,
    imageId,
    logPath,
    createdAtMs,
    annotations,
    state: 'running',
    pid,
  }
}

function failedRecord(stored: StoredContainer, message: string): ContainerRecord {
  return {
    ...baseRecord(stored, 0),
    startedAtMs: 0,
    state: 'exited',
    finishedAtMs: stored.createdAtMs,
    exitCode: exitStart,
    reason: 'StartError',
    message,
  }
}

const ended = (record: ContainerRecord, { code, atMs }: { code: number; atMs: number }): ContainerRecord => ({
  ...record,
  state: 'exited',
  exitCode: code,
  finishedAtMs: atMs,
})

function settled(stored: StoredContainer, record: ContainerRecord): Container {
  const container: Container = {
    stored,
    record,
    jobPid: record.pid,
    started: Promise.withResolvers<void>(),
    exited: Promise.withResolvers<void>(),
  }
  container.started.resolve()
  container.exited.resolve()
  return container
}

/** In namespaces of its own everything ends with the first process, before the shim tells; elsewhere the group has to do. */
function kill({ stored, record, jobPid }: Container): void {
  sendSignal(stored.isolated ? record.pid : -jobPid, 'SIGKILL')
}

function killExec(exec: Exec): void {
  exec.killed = true
  if (exec.pid !== 0) sendSignal(-exec.pid, 'SIGKILL')
}

/** With its rotated predecessors. */
function removeLog(file: string): void {
  const directory = path.dirname(file)
  if (!existsSync(directory)) return
  const name = path.basename(file)
  for (const entry of readdirSync(directory))
    if (entry === name || entry.startsWith(`${name}.`)) unlinkSync(path.join(directory, entry))
  if (readdirSync(directory).length === 0) rmSync(directory, { recursive: true, force: true })
}
