import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import { logLink, podLogDir } from '../../pod/folders.ts'
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
import { type LogLimits, removeLog } from '../log-files.ts'
import { type CriClient, CriError, isMissing } from './api/client.ts'
import { ContainerdExec } from './commands/containerd-exec.ts'
import { runCommand } from './commands/run-command.ts'
import { resolveImage } from './images.ts'
import { containerMessage, givenOf, resourcesOf } from './pods/container-message.ts'
import { GIVEN, LABELS } from './pods/labels.ts'
import { LogRotation } from './pods/log-rotation.ts'
import { PodRecords, pidOf } from './pods/pod-records.ts'
import { sandboxMessage } from './pods/sandbox-message.ts'
import { stopContainer } from './pods/stop-container.ts'
import { usageOf } from './pods/usage.ts'
import { forwardPort, isListening } from './streaming/port-forward.ts'
import { joinRemote } from './streaming/remote-command.ts'
import { Watch } from './watch.ts'

export interface CriRuntimeOptions {
  /** Answers already. */
  client: CriClient
  /** Shows the runtime's name and version: `containerd://2.2.9`. */
  version: string
  /** Control groups are made by systemd. */
  hasSystemdGroups: boolean
  rootDir: string
  nodeIP: string
  clock: Clock
  /** Says how large a log may become; by default it may become so without end. */
  logs?: LogLimits
  warn(message: string, fields: object): void
}

/** A sandbox may have to wait for its image. Upstream doubles the usual timeout. */
const sandboxTimeoutMs = 240_000
/** A client that is attached to a container sees its end a moment before the runtime tells it. */
const endMs = 5_000
const slice = 'kubestage.slice'

/** Containers of containerd, CRI-O, or another runtime that speaks runtime.v1. */
export class CriRuntime implements ContainerRuntime {
  readonly version: string
  readonly ownIpc = true
  readonly reachesPods = true
  readonly #options: CriRuntimeOptions
  readonly #client: CriClient
  readonly #records: PodRecords
  readonly #watch: Watch
  readonly #rotation: LogRotation | undefined
  readonly #withEnv: ContainerdExec | undefined
  readonly #asked = new Set<string>()
  readonly #folder: string
  #isNetworkShared = false
  #bootId: string | undefined

  constructor(options: CriRuntimeOptions) {
    const { client, version, rootDir, nodeIP, clock, warn } = options
    this.#options = options
    this.#client = client
    this.version = version
    this.#records = new PodRecords({ client, rootDir, nodeIP })
    this.#watch = new Watch({ client, records: this.#records, clock, warn })
    this.#rotation =
      options.logs && new LogRotation({ client, clock, limits: options.logs, running: () => this.#running() })
    this.#folder = path.join(rootDir, 'cri')
    if (version.startsWith('containerd:'))
      this.#withEnv = new ContainerdExec({
        channel: client.channel,
        folder: path.join(this.#folder, 'commands'),
        clock,
      })
  }

  /** Finds what an earlier kubelet left. */
  async begin(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    rmSync(path.join(this.#folder, 'commands'), { recursive: true, force: true })
    this.#bootId = readText(path.join(this.#folder, 'boot'))
    await this.#records.list()
    await this.#watch.begin()
  }

  capabilities(): RuntimeCapabilities {
    return {
      isolation: 'pod',
      files: 'own',
      seccomp: 'always',
      users: true,
      limits: ['cpu', 'memory'],
      ...(!this.#withEnv && { execEnv: false as const }),
    }
  }

  problem(): string | undefined {
    return this.#watch.problem
  }

  resolveImage(image: string, options: ImageRequest): Promise<ResolvedImage> {
    return resolveImage(this.#client, image, options)
  }

  /** The runtime's CNI plug-ins choose addresses; a range is passed on to them. */
  async usePodAddresses(addressing: PodAddressing): Promise<undefined> {
    this.#isNetworkShared = addressing === 'host'
    if (!addressing.includes('/')) return
    const runtimeConfig = { networkConfig: { podCidr: addressing } }
    await this.#client.call('updateRuntimeConfig', { runtimeConfig })
  }

  async startSandbox(config: SandboxConfig): Promise<Sandbox> {
    const wanted = { ...config, hostNetwork: config.hostNetwork || this.#isNetworkShared }
    const { items } = await this.#client.call('listPodSandbox', {
      filter: { labelSelector: { [LABELS.kubelet]: this.#options.rootDir, [LABELS.podUid]: config.podUid } },
    })
    const attempt = Math.max(-1, ...items.map(({ metadata }) => metadata?.attempt ?? 0)) + 1
    const places = this.#placesOf(wanted)
    mkdirSync(places.logDirectory, { recursive: true, mode: 0o755 })
    const message = sandboxMessage(wanted, attempt, places)
    const { podSandboxId } = await this.#client.call(
      'runPodSandbox',
      { config: message },
      { timeoutMs: sandboxTimeoutMs },
    )
    const sandbox = await this.#records.sandbox(podSandboxId)
    if (!sandbox) throw new Error(`sandbox ${podSandboxId} is gone`)
    return sandbox
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    await this.#ifThere('stopPodSandbox', { podSandboxId: sandboxId })
    await this.#records.refresh(sandboxId)
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    const sandbox = await this.#records.sandbox(sandboxId)
    const containers = sandbox ? (await this.#records.list(sandbox.podUid)).containers : []
    await this.#ifThere('stopPodSandbox', { podSandboxId: sandboxId })
    for (const record of containers.filter((record) => record.sandboxId === sandboxId))
      await this.#remove(record, { logs: true })
    await this.#ifThere('removePodSandbox', { podSandboxId: sandboxId })
  }

  async startContainer(config: ContainerConfig): Promise<ContainerRecord> {
    if (config.tooLong !== undefined) throw new StartError(config.tooLong, 'CreateContainerError')
    const { sandboxId, name, target, logPath } = config
    const sandbox = await this.#records.sandbox(sandboxId)
    if (!sandbox) throw new StartError(`sandbox "${sandboxId}" not found`, 'CreateContainerError')
    const targetId = target && (await this.#running(sandbox.podUid)).find((record) => record.name === target)?.id
    const places = this.#placesOf(sandbox)
    mkdirSync(path.dirname(logPath), { recursive: true, mode: 0o755 })
    const { containerId } = await this.#client
      .call('createContainer', {
        podSandboxId: sandboxId,
        config: containerMessage(config, { sandbox, ...places, ...(targetId && { targetId }) }),
        sandboxConfig: sandboxMessage(sandbox, 0, places),
      })
      .catch((error: Error) => {
        throw new StartError(error.message, 'CreateContainerError')
      })
    const link = logLink(logPath, containerId)
    try {
      if (link) symlinkSync(link.target, link.path)
    } catch {
      // Collectors do not find this log.
    }
    this.#watch.expect()
    try {
      await this.#client.call('startContainer', { containerId })
    } catch (error) {
      await this.#records.refresh(containerId)
      throw new StartError(`failed to start container "${name}": ${(error as Error).message}`)
    }
    return this.#records.started(containerId, sandbox.podUid)
  }

  async stopContainer(containerId: string, options: Parameters<ContainerRuntime['stopContainer']>[1]): Promise<void> {
    const { clock } = this.#options
    this.#watch.expect()
    const places = { client: this.#client, records: this.#records, clock, asked: this.#asked }
    await stopContainer(containerId, options, places)
  }

  async removeContainer(containerId: string, options: { logs?: boolean } = {}): Promise<void> {
    const record = await this.#records.container(containerId)
    if (!record) return
    if (record.state === 'running') throw new Error(`container ${containerId} is running`)
    await this.#remove(record, options)
  }

  execSync(containerId: string, options: ExecOptions): Promise<ExecResult> {
    return runCommand(containerId, options, { client: this.#client, withEnv: this.#withEnv })
  }

  async exec(containerId: string, { command, stdin, tty, size }: StreamedExecOptions): Promise<ProcessStreams> {
    const request = { containerId, cmd: command, stdin, tty, stdout: true, stderr: !tty }
    const { url } = await this.#client.call('exec', request).catch(asStartError)
    return joinRemote({ url, stdin, tty, size, clock: this.#options.clock })
  }

  async attach(containerId: string): Promise<ProcessStreams> {
    const { containers } = await this.#client.call('listContainers', { filter: { id: containerId } })
    const { stdin, tty } = givenOf(containers[0]?.annotations[GIVEN])
    const request = { containerId, stdin, tty, stdout: true, stderr: !tty }
    const { url } = await this.#client.call('attach', request).catch(asStartError)
    const streams = await joinRemote({ url, stdin, tty, clock: this.#options.clock })
    const exitCode = streams.exitCode.then(() => this.#exitCodeOf(containerId))
    exitCode.catch(() => {})
    return { ...streams, exitCode }
  }

  async portForward(sandboxId: string, port: number): Promise<Duplex> {
    const { status, info } = await this.#client.call('podSandboxStatus', { podSandboxId: sandboxId, verbose: true })
    if (isListening(pidOf(info), port) === false)
      throw new Error(`connect ECONNREFUSED: nothing listens on port ${port} of sandbox ${status?.id ?? sandboxId}`)
    const { url } = await this.#client.call('portForward', { podSandboxId: sandboxId, port: [port] })
    return forwardPort(url, port, this.#options.clock)
  }

  list(podUid?: string): Promise<{ sandboxes: Sandbox[]; containers: ContainerRecord[] }> {
    return this.#records.list(podUid)
  }

  async usage(podUid?: string): Promise<ContainerUsage[]> {
    const { rootDir } = this.#options
    const labelSelector = { [LABELS.kubelet]: rootDir, ...(podUid !== undefined && { [LABELS.podUid]: podUid }) }
    const [{ stats }, running] = await Promise.all([
      this.#client.call('listContainerStats', { filter: { labelSelector } }),
      this.#running(podUid),
    ])
    const ids = new Set(running.map(({ id }) => id))
    return stats.map(usageOf).filter(({ containerId }) => ids.has(containerId))
  }

  /** The runtime may refuse it later than this returns: then the log says so. */
  resize(podUid: string, _pod: PodLimits, limits: ReadonlyMap<string, ResourceLimits>): void {
    const update = async (): Promise<void> => {
      for (const { id: containerId, name } of await this.#running(podUid)) {
        const wanted = limits.get(name)
        if (!wanted) continue
        await this.#client.call('updateContainerResources', { containerId, linux: resourcesOf({ limits: wanted }) })
      }
    }
    update().catch((error: unknown) => {
      this.#options.warn('the container runtime does not resize a pod', { err: error, podUid })
    })
  }

  bootId(): string | undefined {
    return this.#bootId
  }

  async reboot(): Promise<void> {
    const { sandboxes, containers } = await this.#records.list()
    this.#bootId = randomUUID()
    writeFileSync(path.join(this.#folder, 'boot'), this.#bootId)
    this.#records.lose(containers.filter(({ state }) => state === 'running').map(({ id }) => id))
    for (const { id, state } of sandboxes) if (state === 'ready') await this.stopSandbox(id)
    await this.#records.list()
  }

  onLimit(listener: (reached: ReachedLimit) => void): () => void {
    return this.#records.onLimit(listener)
  }

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    return this.#records.onEvent(listener)
  }

  /** Does nothing: the runtime's containers have the machine's time. */
  timeMoved(): void {}

  async close(): Promise<void> {
    this.#watch.close()
    this.#rotation?.close()
    this.#records.close()
    this.#client.close()
  }

  #placesOf({ namespace, name, podUid: uid }: SandboxConfig) {
    const { rootDir, hasSystemdGroups } = this.#options
    return {
      rootDir,
      logDirectory: podLogDir(rootDir, { metadata: { namespace, name, uid }, spec: { containers: [] } }),
      ...(hasSystemdGroups && { cgroupParent: slice }),
    }
  }

  async #running(podUid?: string): Promise<ContainerRecord[]> {
    const { containers } = await this.#records.list(podUid)
    return containers.filter(({ state }) => state === 'running')
  }

  async #remove({ id, logPath }: ContainerRecord, { logs = false }: { logs?: boolean }): Promise<void> {
    await this.#ifThere('removeContainer', { containerId: id })
    this.#asked.delete(id)
    const link = logLink(logPath, id)
    if (link) rmSync(link.path, { force: true })
    if (logs && logPath) removeLog(logPath)
  }

  async #ifThere(
    name: 'stopPodSandbox' | 'removePodSandbox' | 'removeContainer',
    request: { podSandboxId?: string; containerId?: string },
  ): Promise<void> {
    try {
      await this.#client.call(name, request)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  async #exitCodeOf(containerId: string): Promise<number> {
    const { clock } = this.#options
    const ended = Promise.withResolvers<void>()
    const forget = this.#records.onEvent((event) => {
      if (event.type === 'exited' && event.containerId === containerId) ended.resolve()
    })
    try {
      const record = await this.#records.container(containerId)
      if (record?.state === 'running') await withinLimit(ended.promise, endMs, clock.machine)
      return (await this.#records.container(containerId))?.exitCode ?? 0
    } finally {
      forget()
    }
  }
}

function asStartError(error: unknown): never {
  throw new StartError(error instanceof CriError ? error.message : String(error))
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
