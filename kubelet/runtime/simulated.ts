import { randomUUID } from 'node:crypto'
import { type Duplex, Readable, Writable } from 'node:stream'
import { AddressRange } from '../../shared/api/services/address-range.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type {
  ContainerConfig,
  ContainerRecord,
  ContainerRuntime,
  ContainerUsage,
  ExecOptions,
  ExecResult,
  PodAddressing,
  ProcessStreams,
  RuntimeEvent,
  Sandbox,
  StreamedExecOptions,
} from './container-runtime.ts'
import { ImageError, StartError } from './container-runtime.ts'
import { PodAddresses } from './pod-addresses.ts'

/** Describes what a simulated program does. By default it runs until TERM, and then exits at once with code 143. */
export interface Behaviour {
  exitAfterMs?: number
  exitCode?: number
  onTerm?: 'ignore' | { afterMs: number; exitCode: number }
  /** The program cannot be executed, for this reason. */
  startError?: string
  usage?: Partial<Pick<ContainerUsage, 'memoryBytes' | 'cpuSeconds' | 'processes' | 'diskBytes' | 'inodes'>>
}
export interface SimulatedExec {
  durationMs?: number
  exitCode?: number
  output?: string
}
export interface SimulatedRuntimeOptions {
  clock: Clock
  /** Sets the address of pods with hostNetwork. */
  nodeIP?: string
  behaviour?(container: ContainerConfig): Behaviour
  /** Says why an image is not available. */
  image?(image: string): ImageError['reason'] | undefined
  /** Simulates a command beside the program; `env` holds the variables in addition to the container's. */
  exec?(container: ContainerRecord, command: string[], env: Record<string, string>): SimulatedExec
  /** Receives what a process would notice: `TERM`, `KILL`. */
  onSignal?(container: ContainerRecord, signal: string): void
}

interface PodParts {
  sandboxes: Sandbox[]
  processes: Process[]
}
interface Process {
  record: ContainerRecord
  behaviour: Behaviour
  timers: Timer[]
  /** The process was sent the signal that asks it to end. */
  asked?: boolean
  ended: PromiseWithResolvers<void>
}

const EXIT_TERM = 143
const EXIT_KILL = 137
const EXIT_LOST = 255

export interface SimulatedContainerRuntime extends ContainerRuntime {
  /** The calling kubelet is dead: pending calls stop and get no answer. Containers live on. */
  forgetCallers(): void
}

/** Containers without processes, on any clock: for nodes of which there shall be many, and for tests. */
export function createSimulatedRuntime(options: SimulatedRuntimeOptions): SimulatedContainerRuntime {
  return new SimulatedRuntime(options)
}

class SimulatedRuntime implements SimulatedContainerRuntime {
  readonly version = 'simulated://1.0.0'
  readonly #options: SimulatedRuntimeOptions
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #processes = new Map<string, Process>()
  /** Holds sandboxes and processes by pod. */
  readonly #pods = new Map<string, PodParts>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  #addresses: PodAddresses | undefined = counted('127.64.0.0/16')
  #bootId: string | undefined
  /** The timers of processes that were asked to end, and have not ended yet. */
  readonly #kills = new Set<Timer>()
  #callers = 0

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options
  }

  capabilities() {
    const has = { seccomp: 'always' as const, users: true as const, ownUsers: true as const }
    return { isolation: 'pod' as const, files: 'own' as const, ...has }
  }

  readonly ownIpc = true

  async resolveImage(image: string) {
    const reason = this.#options.image?.(image)
    if (reason) throw new ImageError(reason, `no image ${image}`)
    return { id: `simulated:${image}`, entrypoint: [], cmd: [], env: {}, path: [], present: true }
  }

  async usePodAddresses(addressing: PodAddressing): Promise<undefined> {
    this.#addresses =
      addressing === 'host' ? undefined : counted(addressing === 'loopback' ? '127.64.0.0/16' : addressing)
    for (const { ip, state } of this.#sandboxes.values()) if (state === 'ready') this.#addresses?.keep(ip)
  }

  async startSandbox(config: Parameters<ContainerRuntime['startSandbox']>[0]): Promise<Sandbox> {
    const sandbox: Sandbox = {
      ...config,
      id: newId(),
      ip: (config.hostNetwork ? undefined : this.#addresses?.take()) ?? this.#options.nodeIP ?? '127.0.0.1',
      state: 'ready',
      createdAtMs: this.#options.clock.now(),
    }
    this.#sandboxes.set(sandbox.id, sandbox)
    this.#partsOf(sandbox.podUid).sandboxes.push(sandbox)
    return { ...sandbox }
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (!sandbox) return
    for (const process of this.#of(sandbox)) this.#end(process, EXIT_KILL)
    this.#lose(sandbox)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxId)
    if (!sandbox) return
    await this.stopSandbox(sandboxId)
    for (const process of this.#of(sandbox)) this.#forget(process)
    this.#sandboxes.delete(sandboxId)
    const parts = this.#partsOf(sandbox.podUid)
    parts.sandboxes = parts.sandboxes.filter((other) => other !== sandbox)
    if (parts.sandboxes.length === 0) this.#pods.delete(sandbox.podUid)
  }

  async startContainer(config: ContainerConfig): Promise<ContainerRecord> {
    const { clock, behaviour: behaviourOf } = this.#options
    const sandbox = this.#sandboxes.get(config.sandboxId)
    if (!sandbox) throw new Error(`sandbox ${config.sandboxId} not found`)
    const behaviour = behaviourOf?.(config) ?? {}
    const record: ContainerRecord = {
      id: newId(),
      sandboxId: config.sandboxId,
      podUid: sandbox.podUid,
      name: config.name,
      attempt: config.attempt,
      image: config.image,
      imageId: config.imageId,
      logPath: config.logPath,
      state: 'running',
      pid: 0,
      createdAtMs: clock.now(),
      startedAtMs: clock.now(),
      annotations: config.annotations,
    }
    const process: Process = { record, behaviour, timers: [], asked: false, ended: Promise.withResolvers() }
    this.#processes.set(record.id, process)
    this.#partsOf(sandbox.podUid).processes.push(process)
    if (behaviour.startError !== undefined) {
      this.#end(process, 128, { reason: 'StartError', message: behaviour.startError })
      throw new StartError(behaviour.startError)
    }
    this.#emit('started', record)
    if (behaviour.exitAfterMs !== undefined) this.#endAfter(process, behaviour.exitAfterMs, behaviour.exitCode ?? 0)
    return { ...record }
  }

  async stopContainer(
    containerId: string,
    { signal, gracePeriodMs, onSignal }: Parameters<ContainerRuntime['stopContainer']>[1],
  ): Promise<void> {
    const process = this.#processes.get(containerId)
    if (!process || process.record.state === 'exited') return
    const tell = (name: string) => {
      onSignal?.(name)
      this.#options.onSignal?.(process.record, name.replace('SIG', ''))
    }
    const caller = this.#callers
    const isFirst = !process.asked
    process.asked = true
    if (isFirst) tell(signal)
    const kill = this.#options.clock.setTimer(gracePeriodMs, () => {
      tell('SIGKILL')
      this.#end(process, EXIT_KILL)
    })
    process.timers.push(kill)
    this.#kills.add(kill)
    const { onTerm = { afterMs: 0, exitCode: EXIT_TERM } } = process.behaviour
    if (isFirst && onTerm !== 'ignore') this.#endAfter(process, onTerm.afterMs, onTerm.exitCode)
    await process.ended.promise
    this.#kills.delete(kill)
    await this.#answer(caller)
  }

  forgetCallers(): void {
    this.#callers++
    for (const kill of this.#kills) kill.cancel()
    this.#kills.clear()
    this.#listeners.clear()
  }

  /** Never resolves for a kubelet that is dead. */
  async #answer(caller: number): Promise<void> {
    if (caller !== this.#callers) await new Promise(() => {})
  }

  async removeContainer(containerId: string): Promise<void> {
    const process = this.#processes.get(containerId)
    if (process?.record.state === 'exited') this.#forget(process)
  }

  async execSync(containerId: string, { command, env = {}, timeoutMs, signal }: ExecOptions): Promise<ExecResult> {
    const process = this.#processes.get(containerId)
    if (process?.record.state !== 'running') return { outcome: 'failed', message: 'container not running', output: '' }
    const { durationMs = 0, exitCode = 0, output = '' } = this.#options.exec?.(process.record, command, env) ?? {}
    const limitMs = timeoutMs ?? Number.POSITIVE_INFINITY
    const caller = this.#callers
    try {
      if (durationMs > 0) await this.#options.clock.sleep(Math.min(durationMs, limitMs), { signal })
    } catch {
      return { outcome: 'exited', exitCode: EXIT_KILL, output }
    }
    await this.#answer(caller)
    return durationMs > limitMs ? { outcome: 'timeout', output } : { outcome: 'exited', exitCode, output }
  }

  async exec(containerId: string, { command, stdin }: StreamedExecOptions): Promise<ProcessStreams> {
    const result = await this.execSync(containerId, { command })
    if (result.outcome !== 'exited') throw new StartError('container not running')
    return { ...streams(result.output, stdin), exitCode: Promise.resolve(result.exitCode) }
  }

  /** A simulated program says nothing, and reads all that it is told. */
  async attach(containerId: string): Promise<ProcessStreams> {
    const process = this.#processes.get(containerId)
    if (process?.record.state !== 'running') throw new StartError('container not running')
    const stdout = new Readable({ read() {} })
    const exitCode = process.ended.promise.then(() => {
      stdout.push(null)
      return process.record.exitCode ?? 0
    })
    return { stdin: new Writable({ write: (_chunk, _encoding, done) => done() }), stdout, exitCode }
  }

  async portForward(_sandboxId: string, port: number): Promise<Duplex> {
    throw new Error(`connect ECONNREFUSED: nothing listens on port ${port} of a simulated pod`)
  }

  async list(podUid?: string) {
    const all = podUid === undefined
    const parts = all ? undefined : this.#pods.get(podUid)
    const sandboxes = all ? [...this.#sandboxes.values()] : (parts?.sandboxes ?? [])
    const processes = all ? [...this.#processes.values()] : (parts?.processes ?? [])
    return {
      sandboxes: sandboxes.map((sandbox) => ({ ...sandbox })),
      containers: processes.map(({ record }) => ({ ...record })),
    }
  }

  async usage(podUid?: string): Promise<ContainerUsage[]> {
    return [...this.#processes.values()]
      .filter(({ record }) => record.state === 'running' && (podUid === undefined || record.podUid === podUid))
      .map(({ record: { podUid, id, name }, behaviour: { usage } }) => ({
        podUid,
        containerId: id,
        name,
        memoryBytes: 0,
        cpuSeconds: 0,
        processes: 1,
        diskBytes: 0,
        inodes: 0,
        ...usage,
      }))
  }

  bootId(): string | undefined {
    return this.#bootId
  }

  async reboot(): Promise<void> {
    this.#bootId = randomUUID()
    for (const sandbox of this.#sandboxes.values()) this.#lose(sandbox)
    for (const process of this.#processes.values()) this.#end(process, EXIT_LOST, { reason: 'Unknown' })
  }

  /** Does nothing: simulated processes have no clock but the kubelet's. */
  timeMoved(): void {}

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  #lose(sandbox: Sandbox): void {
    if (sandbox.state === 'ready' && !sandbox.hostNetwork) this.#addresses?.give(sandbox.ip)
    sandbox.state = 'notReady'
  }

  #partsOf(podUid: string): PodParts {
    const parts = this.#pods.get(podUid) ?? { sandboxes: [], processes: [] }
    this.#pods.set(podUid, parts)
    return parts
  }

  #of({ id, podUid }: Sandbox): Process[] {
    return (this.#pods.get(podUid)?.processes ?? []).filter(({ record }) => record.sandboxId === id)
  }

  #forget(process: Process): void {
    const { id, podUid } = process.record
    this.#processes.delete(id)
    const parts = this.#partsOf(podUid)
    parts.processes = parts.processes.filter((other) => other !== process)
  }

  #endAfter(process: Process, afterMs: number, exitCode: number): void {
    if (afterMs <= 0) this.#end(process, exitCode)
    else process.timers.push(this.#options.clock.setTimer(afterMs, () => this.#end(process, exitCode)))
  }

  #end(process: Process, exitCode: number, why: { reason?: string; message?: string } = {}): void {
    const { record } = process
    if (record.state === 'exited') return
    for (const timer of process.timers) timer.cancel()
    Object.assign(record, { state: 'exited', exitCode, finishedAtMs: this.#options.clock.now(), ...why })
    process.ended.resolve()
    this.#emit('exited', record)
  }

  #emit(type: RuntimeEvent['type'], { podUid, id }: ContainerRecord): void {
    for (const listener of [...this.#listeners]) listener({ type, podUid, containerId: id })
  }
}

const streams = (output: string, stdin: boolean): Pick<ProcessStreams, 'stdin' | 'stdout'> => ({
  stdout: Readable.from(output === '' ? [] : [Buffer.from(output)], { objectMode: false }),
  ...(stdin && { stdin: new Writable({ write: (_chunk, _encoding, done) => done() }) }),
})

const counted = (cidr: string): PodAddresses => new PodAddresses(new AddressRange(cidr), -1)

/** Node keeps random bytes for UUIDs: the system is not asked for each. */
const newId = (): string => (randomUUID() + randomUUID()).replaceAll('-', '')
