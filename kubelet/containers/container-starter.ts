import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import { type HookRunner, hookFailureMessage } from '../actions/hook-runner.ts'
import type { ContainerKiller } from '../ending/container-killer.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { fullName } from '../pod/container-kinds.ts'
import { TooLongError } from '../pod/expansion.ts'
import { goDuration } from '../pod/go-duration.ts'
import {
  type ContainerRecord,
  type ContainerRuntime,
  type Mount,
  type ResolvedImage,
  type Sandbox,
  type SeccompChoice,
  StartError,
  type WantedUser,
} from '../runtime/container-runtime.ts'
import { type RuntimePod, recordsOf } from '../runtime/runtime-pod.ts'
import { ImageVolumeError, type Volume } from '../volumes/volume-payload.ts'
import { containerConfig } from './container-config.ts'
import type { ContainerSurroundings } from './container-surroundings.ts'
import { userOf } from './container-user.ts'
import type { EnsureImage, NeededImage } from './image-puller.ts'
import { type NotApplied, notApplied, type WantedRights } from './not-applied.ts'
import type { RestartBackoff } from './restart-backoff.ts'
import { seccompChoice } from './seccomp-choice.ts'
import { StartFailure } from './start-failure.ts'

export interface ContainerStarterOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  hooks: HookRunner
  backoff: RestartBackoff
  ensureImage: EnsureImage
  killer: ContainerKiller
  surroundings: ContainerSurroundings
  /** The restart count of a container of which the runtime knows nothing (any more). */
  nextAttempt(pod: Pod, container: string): number
  /** Returns what the node keeps for a container of the pod. */
  resources(pod: Pod, container: string): NonNullable<Container['resources']>
  rootDir: string
  machineBytes: number
  /** Volumes are made. */
  podFiles: boolean
  featureGates: FeatureGates
  /** Containers that ask for what the node cannot give are refused. */
  strict: boolean
  /** Each attempt counts, as upstream's metric has it. */
  onStarted?(type: 'init_container' | 'container' | 'ephemeral_container'): void
}
export interface StartRequest {
  pod: Pod
  container: Container
  sandbox: Sandbox
  /** The pod's records when the sync began. */
  runtimePod: RuntimePod
}

/** Starts containers, each when its back-off is over, and runs their postStart hooks. */
export class ContainerStarter {
  readonly #options: ContainerStarterOptions

  constructor(options: ContainerStarterOptions) {
    this.#options = options
  }

  /** Throws a {@link StartFailure} with the waiting reason. */
  async start(request: StartRequest): Promise<ContainerRecord> {
    const { onStarted, runtime } = this.#options
    // Upstream keeps one ended instance, also during the back-off (pod_container_deletor.go).
    await removeOldRecords(runtime, recordsOf(request.runtimePod, request.container.name))
    this.#checkBackoff(request)
    onStarted?.(kindOf(request))
    const record = await this.#launch(request)
    await this.#postStart(request, record)
    return record
  }

  #checkBackoff({ pod, container, runtimePod }: StartRequest): void {
    const { backoff, clock, events } = this.#options
    const { name, image, resources } = container
    const exited = recordsOf(runtimePod, name).find(({ state }) => state === 'exited')
    if (!exited) return
    const key = `${pod.metadata.uid}_${name}_${image}_${JSON.stringify(resources ?? {})}`
    const failedAtMs = exited.finishedAtMs ?? exited.startedAtMs
    const retryAtMs = backoff.waitUntil(key, failedAtMs)
    if (retryAtMs !== undefined && clock.now() < retryAtMs) {
      const where = `restarting failed container`
      const message = `Back-off ${where} ${name} in pod ${fullName(pod)}`
      events.podEvent(pod, name, 'Warning', 'BackOff', message)
      throw new StartFailure({
        reason: 'CrashLoopBackOff',
        message: `back-off ${goDuration(backoff.delayMs(key))} ${where}=${name} pod=${fullName(pod)}`,
        retryAtMs,
      })
    }
    backoff.next(key, failedAtMs, clock.now())
  }

  async #launch(request: StartRequest): Promise<ContainerRecord> {
    const { events, featureGates, nextAttempt, rootDir, runtime, surroundings } = this.#options
    const { pod, container, sandbox, runtimePod } = request
    const { name } = container
    const { image: reference = '', imagePullPolicy: policy, command = [] } = container
    const hasCommand = command.length > 0
    const image = await this.#image(request, { image: reference, policy, hasCommand, container: name })
    const imageVolumes = this.#imageVolumes(request)
    const imageFolders = new Map(imageVolumes.length > 0 ? await this.#imageFolders(request, imageVolumes) : [])
    const env = await surroundings
      .environment(pod, container, sandbox.ip)
      .catch((error: Error) =>
        error instanceof TooLongError ? error : this.#fail(request, error.message, 'CreateContainerConfigError'),
      )
    const [newest] = recordsOf(runtimePod, name)
    const attempt = newest ? newest.attempt + 1 : nextAttempt(pod, name)
    const { mounts, user } = this.#mountsAndUser(request, {
      env: env instanceof TooLongError ? {} : env,
      image,
      imageFolders,
    })
    const wantedCalls = this.#seccomp(request)
    const rights = { seccomp: wantedCalls, user, ofImage: image.root !== undefined }
    const missing = this.#tellNotApplied(request, rights)
    const seccomp = missing.some(({ event }) => event === 'SeccompNotApplied') ? undefined : wantedCalls
    const messageFile = surroundings.messageFile(pod, name)
    const config = containerConfig({
      pod,
      container,
      sandboxId: sandbox.id,
      attempt,
      image,
      env,
      rootDir,
      mounts,
      user,
      messageFile,
      featureGates,
      seccomp,
      resources: this.#options.resources(pod, name),
      machineBytes: this.#options.machineBytes,
    })
    events.podEvent(pod, name, 'Normal', 'Created', 'Container created')
    try {
      const record = await runtime.startContainer(config)
      events.podEvent(pod, name, 'Normal', 'Started', 'Container started')
      return record
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return this.#fail(request, error.message, error.reason)
    }
  }

  #imageVolumes({ pod, container }: StartRequest): Volume[] {
    if (!this.#options.podFiles) return []
    const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name))
    return (pod.spec.volumes ?? []).filter(({ name, image }) => image && mounted.has(name))
  }

  /** Resolves to the volumes' names, each with the folder of its image on this machine. */
  async #imageFolders(request: StartRequest, volumes: readonly Volume[]): Promise<[string, string][]> {
    const folders: [string, string][] = []
    for (const { name, image: { reference = '', pullPolicy } = {} } of volumes) {
      const { root } = await this.#image(request, { image: reference, policy: pullPolicy, isVolume: true })
      if (root) folders.push([name, root.folder])
    }
    return folders
  }

  async #image({ pod, container }: StartRequest, needed: NeededImage): Promise<ResolvedImage> {
    try {
      return await this.#options.ensureImage(pod, needed)
    } catch (error) {
      if (error instanceof StartFailure) {
        this.#options.events.podEvent(pod, container.name, 'Warning', 'Failed', `Error: ${error.reason}`)
      }
      throw error
    }
  }

  #mountsAndUser(
    request: StartRequest,
    {
      env,
      image: { root },
      imageFolders,
    }: { env: Record<string, string>; image: ResolvedImage; imageFolders: ReadonlyMap<string, string> },
  ): { mounts: Mount[]; user?: WantedUser } {
    const { pod, container, sandbox } = request
    try {
      const mounts = this.#options.surroundings.mounts(pod, container, {
        env,
        podIP: sandbox.ip,
        ofImage: root !== undefined,
        imageFolders,
      })
      return { mounts, user: userOf(pod, container, root) }
    } catch (error) {
      const isImage = error instanceof ImageVolumeError
      const reason = isImage ? 'CreateContainerError' : 'CreateContainerConfigError'
      return this.#fail(request, (error as Error).message, reason)
    }
  }

  #seccomp(request: StartRequest): SeccompChoice | undefined {
    try {
      return seccompChoice(request.pod, request.container, this.#options.rootDir)
    } catch (error) {
      return this.#fail(request, (error as Error).message, 'CreateContainerError')
    }
  }

  /** Says what the node cannot give: the container runs without, unless the kubelet is strict. */
  #tellNotApplied(request: StartRequest, wanted: Pick<WantedRights, 'ofImage' | 'seccomp' | 'user'>): NotApplied[] {
    const { events, runtime, strict } = this.#options
    const { pod, container } = request
    const refusedPorts = runtime.network?.refusedPorts.filter(({ podUid }) => podUid === pod.metadata.uid)
    const missing = notApplied({ pod, container, refusedPorts, ...wanted }, runtime.capabilities())
    const messages = missing.map(({ message }) => message)
    if (strict && missing.length > 0)
      this.#fail(request, `refused by --strict: ${messages.join('; ')}`, 'CreateContainerConfigError')
    for (const { event, message } of missing) if (event) events.podEvent(pod, container.name, 'Warning', event, message)
    return missing
  }

  #fail({ pod, container }: StartRequest, message: string, reason: string): never {
    this.#options.events.podEvent(pod, container.name, 'Warning', 'Failed', `Error: ${message}`)
    throw new StartFailure({ reason, message })
  }

  async #postStart({ pod, container, sandbox }: StartRequest, record: ContainerRecord): Promise<void> {
    const { events, hooks, killer } = this.#options
    const handler = container.lifecycle?.postStart
    if (!handler) return
    const hook = { pod, container, record, podIP: sandbox.ip, handler }
    const result = await hooks.run(hook)
    if (result.outcome === 'success') return
    events.podEvent(pod, container.name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed')
    await killer.kill({
      ends: 'container',
      pod,
      container,
      record,
      podIP: sandbox.ip,
      cause: 'FailedPostStartHook',
      message: 'FailedPostStartHook',
    })
    throw new StartFailure({ reason: 'PostStartHookError', message: hookFailureMessage(hook, result) })
  }
}

function kindOf({ pod: { spec }, container: { name } }: StartRequest) {
  if (spec.initContainers?.some((container) => container.name === name)) return 'init_container'
  return spec.ephemeralContainers?.some((container) => container.name === name) ? 'ephemeral_container' : 'container'
}

/** Removes old records, but keeps one earlier instance for `lastState` and its log. */
async function removeOldRecords(runtime: ContainerRuntime, records: ContainerRecord[]): Promise<void> {
  const exited = records.filter(({ state }) => state === 'exited')
  for (const { id } of exited.slice(1)) await runtime.removeContainer(id, { logs: true })
}
