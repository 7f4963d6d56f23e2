import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { ContainerKiller } from '../lifecycle/container-killer.ts'
import { type HookRunner, hookFailureMessage } from '../lifecycle/hook-runner.ts'
import { fullName } from '../pod/container-kinds.ts'
import { goDuration } from '../pod/go-duration.ts'
import {
  type ContainerRecord,
  type ContainerRuntime,
  type Mount,
  type Sandbox,
  StartError,
  type WantedUser,
} from '../runtime/container-runtime.ts'
import { ImageVolumeError } from '../volumes/volume-payload.ts'
import { containerConfig } from './container-config.ts'
import { userOf } from './container-user.ts'
import type { EnsureImage } from './image-puller.ts'
import type { RestartBackoff } from './restart-backoff.ts'
import { type RuntimePod, recordsOf } from './runtime-pod.ts'
import { StartFailure } from './start-failure.ts'

export interface StartContainerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  hooks: HookRunner
  backoff: RestartBackoff
  ensureImage: EnsureImage
  killer: ContainerKiller
  environment(pod: Pod, container: Container, podIP: string): Promise<Record<string, string>>
  /** What to mount, where. Throws for what cannot be. */
  mounts(pod: Pod, container: Container, seen: { env: Record<string, string>; podIP: string }): Mount[]
  /** Where its last words will be; empty for nowhere. */
  messageFile(pod: Pod, container: string): string
  /** The restart count of a container of which the runtime knows nothing (any more). */
  nextAttempt(pod: Pod, container: string): number
  rootDir: string
  /** The feature gate ContainerStopSignals. */
  stopSignals: boolean
  /** Each attempt counts, as upstream's metric has it. */
  onStarted?(type: 'init_container' | 'container' | 'ephemeral_container'): void
}
export interface StartRequest {
  pod: Pod
  container: Container
  sandbox: Sandbox
  /** As it was when the sync began. */
  runtimePod: RuntimePod
}
/** Starts one container and runs its postStart hook. Throws a {@link StartFailure} with the waiting reason. */
export type StartContainer = (request: StartRequest) => Promise<ContainerRecord>

export function createStartContainer(options: StartContainerOptions): StartContainer {
  const { runtime, clock, events, backoff } = options

  function checkBackoff({ pod, container, runtimePod }: StartRequest): void {
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

  async function launch({ pod, container, sandbox, runtimePod }: StartRequest): Promise<ContainerRecord> {
    const { name } = container
    const fail = (message: string, reason: string): never => {
      events.podEvent(pod, name, 'Warning', 'Failed', `Error: ${message}`)
      throw new StartFailure({ reason, message })
    }
    const image = await options.ensureImage(pod, container).catch((error: unknown) => {
      if (error instanceof StartFailure) {
        events.podEvent(pod, name, 'Warning', 'Failed', `Error: ${error.reason}`)
      }
      throw error
    })
    const env = await options
      .environment(pod, container, sandbox.ip)
      .catch((error: Error) => fail(error.message, 'CreateContainerConfigError'))
    const [newest] = recordsOf(runtimePod, name)
    const attempt = newest ? newest.attempt + 1 : options.nextAttempt(pod, name)
    const { rootDir, stopSignals } = options
    let mounts: Mount[] = []
    let user: WantedUser | undefined
    try {
      mounts = options.mounts(pod, container, { env, podIP: sandbox.ip })
      user = userOf(pod, container)
    } catch (error) {
      const isImage = error instanceof ImageVolumeError
      fail((error as Error).message, isImage ? 'CreateContainerError' : 'CreateContainerConfigError')
    }
    const messageFile = options.messageFile(pod, name)
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
      stopSignals,
    })
    events.podEvent(pod, name, 'Normal', 'Created', 'Container created')
    try {
      const record = await runtime.startContainer(config)
      events.podEvent(pod, name, 'Normal', 'Started', 'Container started')
      return record
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return fail(error.message, 'RunContainerError')
    }
  }

  async function postStart({ pod, container, sandbox }: StartRequest, record: ContainerRecord): Promise<void> {
    const handler = container.lifecycle?.postStart
    if (!handler) return
    const hook = { pod, container, record, podIP: sandbox.ip, handler }
    const result = await options.hooks.run(hook)
    if (result.outcome === 'success') return
    events.podEvent(pod, container.name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed')
    await options.killer.kill({
      pod,
      container,
      record,
      podIP: sandbox.ip,
      cause: 'FailedPostStartHook',
      message: 'FailedPostStartHook',
    })
    throw new StartFailure({ reason: 'PostStartHookError', message: hookFailureMessage(hook, result) })
  }

  return async (request) => {
    checkBackoff(request)
    await removeOldRecords(runtime, recordsOf(request.runtimePod, request.container.name))
    options.onStarted?.(kindOf(request))
    const record = await launch(request)
    await postStart(request, record)
    return record
  }
}

function kindOf({ pod: { spec }, container: { name } }: StartRequest) {
  if (spec.initContainers?.some((container) => container.name === name)) return 'init_container'
  return spec.ephemeralContainers?.some((container) => container.name === name) ? 'ephemeral_container' : 'container'
}

/** One earlier instance is kept, for `lastState` and its log. */
async function removeOldRecords(runtime: ContainerRuntime, records: ContainerRecord[]): Promise<void> {
  const exited = records.filter(({ state }) => state === 'exited')
  for (const { id } of exited.slice(1)) await runtime.removeContainer(id, { logs: true })
}
