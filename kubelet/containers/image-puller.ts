import type { Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { Turns } from '../../shared/concurrency/turns.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { goDuration } from '../pod/go-duration.ts'
import {
  type ContainerRuntime,
  type Credentials,
  ImageError,
  type ImageRequest,
  type ResolvedImage,
} from '../runtime/container-runtime.ts'
import type { PullSecrets } from './pull-secrets.ts'
import { createRestartBackoff, type RestartBackoff } from './restart-backoff.ts'
import { StartFailure } from './start-failure.ts'

export interface ImagePullerOptions {
  runtime: ContainerRuntime
  clock: Clock
  events: EventRecorder
  pullSecrets: PullSecrets
}
/** Says which image a pod needs, and for what. */
export interface NeededImage extends Pick<ImageRequest, 'hasCommand' | 'isVolume'> {
  image: string
  policy: string | undefined
  /** Names the container that events speak of; the pod where it is absent. */
  container?: string
}
/** Ensures that an image exists. Throws a {@link StartFailure} whose reason the status shows. */
export type EnsureImage = (pod: Pod, needed: NeededImage) => Promise<ResolvedImage>

/** Asks for images, one pull after the other (upstream's default, serializeImagePulls), and again after a back-off. */
export class ImagePuller {
  readonly #options: ImagePullerOptions
  readonly #turns = new Turns(1)
  readonly #backoff: RestartBackoff = createRestartBackoff()
  /** Holds errors by pod and image, as the back-off does. */
  readonly #lastErrors = new Map<string, string>()

  constructor(options: ImagePullerOptions) {
    this.#options = options
  }

  readonly ensure: EnsureImage = async (pod, needed) => {
    const { clock, events, runtime } = this.#options
    const { image, container } = needed
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
      events.podEvent(pod, container, type, reason, message)
    // With an end, so that it is the beginning of no other.
    const key = `${pod.metadata.uid}_${image} `
    const attempt = new Attempt(pod, needed, { ...this.#options, turns: this.#turns, tell })
    // Upstream reads them each time, and tells of those that are missing.
    if (pod.spec.imagePullSecrets?.length) await attempt.credentials()
    this.#checkBackoff(key, image, tell)
    try {
      const resolved = await runtime.resolveImage(image, attempt.begin())
      attempt.tellPulled(resolved)
      this.#forget(key)
      return resolved
    } catch (error) {
      if (!(error instanceof ImageError)) throw error
      const { reason, message } = error
      if (reason === 'ErrImageNeverPull' || reason === 'InvalidImageName') {
        tell('Warning', reason === 'InvalidImageName' ? 'InspectFailed' : reason, message)
        throw new StartFailure({ reason, message })
      }
      attempt.tellPulling()
      tell('Warning', 'Failed', `Failed to pull image "${image}": ${message}`)
      this.#backoff.next(key, clock.now(), clock.now())
      this.#lastErrors.set(key, `${reason}: ${message}`)
      throw new StartFailure({ reason, message })
    } finally {
      attempt.end()
    }
  }

  /** Images that pods wait for may exist now: tries again at once. */
  retryAll(): void {
    this.#forget('')
  }

  forget(podUid: string): void {
    this.#forget(`${podUid}_`)
  }

  #checkBackoff(key: string, image: string, tell: Tell): void {
    const untilMs = this.#backoff.waitUntil(key, this.#backoff.updatedAtMs(key) ?? 0)
    if (untilMs === undefined || this.#options.clock.now() >= untilMs) return
    const message = `Back-off pulling image "${image}"`
    tell('Normal', 'BackOff', message)
    const why = this.#lastErrors.get(key)
    throw new StartFailure({ reason: 'ImagePullBackOff', message: why ? `${message}: ${why}` : message })
  }

  #forget(prefix: string): void {
    this.#backoff.forget(prefix)
    for (const key of this.#lastErrors.keys()) if (key.startsWith(prefix)) this.#lastErrors.delete(key)
  }
}

type Tell = (type: 'Normal' | 'Warning', reason: string, message: string) => void
type AttemptOptions = Pick<ImagePullerOptions, 'clock' | 'pullSecrets'> & { turns: Turns; tell: Tell }

/** Tries once to get an image, and writes the pod's events about it. */
class Attempt {
  readonly #pod: Pod
  readonly #needed: NeededImage
  readonly #options: AttemptOptions
  #isTold = false
  #beganMs = 0
  /** Holds the time at which a pull has its turn. */
  #pullsSinceMs: number | undefined
  #read: Promise<Credentials[]> | undefined

  constructor(pod: Pod, needed: NeededImage, options: AttemptOptions) {
    this.#pod = pod
    this.#needed = needed
    this.#options = options
  }

  begin(): ImageRequest {
    const { policy = 'IfNotPresent', hasCommand, isVolume } = this.#needed
    this.#beganMs = this.#options.clock.monotonic()
    if (policy === 'Always') this.tellPulling()
    return { policy, hasCommand, isVolume, beginPull: () => this.#beginPull(), credentials: () => this.credentials() }
  }

  tellPulled({ present, bytes = 0 }: ResolvedImage): void {
    const { clock, tell } = this.#options
    const { image, policy } = this.#needed
    const since = (ms: number): string => goDuration(Math.round(clock.monotonic() - ms))
    const took = `${since(this.#pullsSinceMs ?? this.#beganMs)} (${since(this.#beganMs)} including waiting)`
    const message =
      policy !== 'Always' && present
        ? `Container image "${image}" already present on machine and can be accessed by the pod`
        : `Successfully pulled image "${image}" in ${took}. Image size: ${bytes} bytes.`
    tell('Normal', 'Pulled', message)
  }

  /** Gives the turn back. */
  end(): void {
    if (this.#pullsSinceMs !== undefined) this.#options.turns.give()
  }

  tellPulling(): void {
    if (!this.#isTold) this.#options.tell('Normal', 'Pulling', `Pulling image "${this.#needed.image}"`)
    this.#isTold = true
  }

  async #beginPull(): Promise<Credentials[]> {
    const { clock, turns } = this.#options
    this.tellPulling()
    await turns.take()
    this.#pullsSinceMs = clock.monotonic()
    return this.credentials()
  }

  /** Reads the pod's secrets once for an attempt. */
  credentials(): Promise<Credentials[]> {
    const { pullSecrets } = this.#options
    this.#read ??= pullSecrets.for(this.#pod, this.#needed.image)
    return this.#read
  }
}
