import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { goDuration } from '../pod/go-duration.ts'
import { type ContainerRuntime, ImageError, type ResolvedImage } from '../runtime/container-runtime.ts'
import { createRestartBackoff } from './restart-backoff.ts'
import { StartFailure } from './start-failure.ts'

export interface ImagePullerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
}
/** Ensures that the image of a container exists. Throws a {@link StartFailure} whose reason the status shows. */
export type EnsureImage = (pod: Pod, container: Container) => Promise<ResolvedImage>
export interface ImagePuller {
  ensure: EnsureImage
  /** Images that pods wait for may exist now: tries again at once. */
  retryAll(): void
  forget(podUid: string): void
}

export function createImagePuller({ runtime, clock, events }: ImagePullerOptions): ImagePuller {
  const backoff = createRestartBackoff()
  /** By pod and image, as the back-off. */
  const lastErrors = new Map<string, string>()

  function forget(prefix: string): void {
    backoff.forget(prefix)
    for (const key of lastErrors.keys()) if (key.startsWith(prefix)) lastErrors.delete(key)
  }

  const ensure: EnsureImage = async (pod, container) => {
    const { name, image = '' } = container
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
      events.podEvent(pod, name, type, reason, message)
    const policy = container.imagePullPolicy ?? 'IfNotPresent'
    // With an end, so that it is the beginning of no other.
    const key = `${pod.metadata.uid}_${image} `
    const lastTryMs = backoff.updatedAtMs(key) ?? 0
    const waitUntilMs = backoff.waitUntil(key, lastTryMs)
    if (waitUntilMs !== undefined && clock.now() < waitUntilMs) {
      tell('Normal', 'BackOff', `Back-off pulling image "${image}"`)
      const why = lastErrors.get(key)
      throw new StartFailure({
        reason: 'ImagePullBackOff',
        message: `Back-off pulling image "${image}"${why ? `: ${why}` : ''}`,
        retryAtMs: waitUntilMs,
      })
    }
    const startedMs = clock.monotonic()
    if (policy === 'Always') tell('Normal', 'Pulling', `Pulling image "${image}"`)
    try {
      const resolved = await runtime.resolveImage(image, { policy, hasCommand: (container.command?.length ?? 0) > 0 })
      if (policy !== 'Always' && resolved.present) {
        tell('Normal', 'Pulled', `Container image "${image}" already present on machine and can be accessed by the pod`)
      } else {
        const took = goDuration(Math.round(clock.monotonic() - startedMs))
        const message = `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: 0 bytes.`
        tell('Normal', 'Pulled', message)
      }
      forget(key)
      return resolved
    } catch (error) {
      if (!(error instanceof ImageError)) throw error
      const { reason, message } = error
      if (reason === 'ErrImageNeverPull') {
        tell('Warning', reason, message)
        throw new StartFailure({ reason, message })
      }
      if (reason === 'InvalidImageName') {
        tell('Warning', 'InspectFailed', message)
        throw new StartFailure({ reason, message })
      }
      if (policy !== 'Always') tell('Normal', 'Pulling', `Pulling image "${image}"`)
      tell('Warning', 'Failed', `Failed to pull image "${image}": ${message}`)
      backoff.next(key, clock.now(), clock.now())
      lastErrors.set(key, `${reason}: ${message}`)
      throw new StartFailure({ reason, message, retryAtMs: backoff.waitUntil(key, clock.now()) })
    }
  }

  return { ensure, retryAll: () => forget(''), forget: (podUid) => forget(`${podUid}_`) }
}
