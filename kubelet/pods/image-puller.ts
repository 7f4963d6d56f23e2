import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { type ContainerRuntime, ImageError, type ResolvedImage } from '../runtime/container-runtime.ts'
import { goDuration } from './go-duration.ts'
import type { RestartBackoff } from './restart-backoff.ts'
import { StartFailure } from './start-failure.ts'

export interface ImagePullerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  backoff: RestartBackoff
}
/** Has the image of a container, or throws a {@link StartFailure} whose reason the status shows. */
export type EnsureImage = (pod: Pod, container: Container) => Promise<ResolvedImage>

export function createImagePuller({ runtime, clock, events, backoff }: ImagePullerOptions): EnsureImage {
  const lastErrors = new Map<string, string>()

  return async (pod, container) => {
    const { name, image = '' } = container
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
      events.podEvent(pod, name, type, reason, message)
    const policy = container.imagePullPolicy ?? 'IfNotPresent'
    const key = `${pod.metadata.uid}_${image}`
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
      backoff.forget(key)
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
}
