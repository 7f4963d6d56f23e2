import type { Container, Pod } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { Turns } from '../../shared/concurrency/turns.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { goDuration } from '../pod/go-duration.ts'
import {
  type ContainerRuntime,
  type Credentials,
  ImageError,
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
/** Ensures that the image of a container exists. Throws a {@link StartFailure} whose reason the status shows. */
export type EnsureImage = (pod: Pod, container: Container) => Promise<ResolvedImage>

/** Asks for images, one pull after the other (upstream's default, serializeImagePulls), and again after a back-off. */
export class ImagePuller {
  readonly #options: ImagePullerOptions
  readonly #turns = new Turns(1)
  readonly #backoff: RestartBackoff = createRestartBackoff()
  /** By pod and image, as the back-off. */
  readonly #lastErrors = new Map<string, string>()

  constructor(options: ImagePullerOptions) {
    this.#options = options
  }

  readonly ensure: EnsureImage = async (pod, container) => {
    const { clock, events } = this.#options
    const { name, image = '' } = container
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
      events.podEvent(pod, name, type, reason, message)
    // With an end, so that it is the beginning of no other.
    const key = `${pod.metadata.uid}_${image} `
    this.#checkBackoff(key, image, tell)
    const attempt = new Attempt(pod, container, { ...this.#options, turns: this.#turns, tell })
    try {
      const resolved = await attempt.run()
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
      throw new StartFailure({ reason, message, retryAtMs: this.#backoff.waitUntil(key, clock.now()) })
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
    throw new StartFailure({
      reason: 'ImagePullBackOff',
      message: why ? `${message}: ${why}` : message,
      retryAtMs: untilMs,
    })
  }

  #forget(prefix: string): void {
    this.#backoff.forget(prefix)
    for (const key of this.#lastErrors.keys()) if (key.startsWith(prefix)) this.#lastErrors.delete(key)
  }
}

type Tell = (type: 'Normal' | 'Warning', reason: string, message: string) => void
type AttemptOptions = Pick<ImagePullerOptions, 'runtime' | 'clock' | 'pullSecrets'> & { turns: Turns; tell: Tell }

/** One try to have the image of a container, and what the pod's events say of it. */
class Attempt {
  readonly #pod: Pod
  readonly #container: Container
  readonly #options: AttemptOptions
  readonly #image: string
  #isTold = false
  /** Is set when a pull has its turn. */
  #pullsSinceMs: number | undefined

  constructor(pod: Pod, container: Container, options: AttemptOptions) {
    this.#pod = pod
    this.#container = container
    this.#options = options
    this.#image = container.image ?? ''
  }

  /** Throws {@link ImageError}. */
  async run(): Promise<ResolvedImage> {
    const { clock, runtime, tell, turns } = this.#options
    const { command = [], imagePullPolicy: policy = 'IfNotPresent' } = this.#container
    const askedMs = clock.monotonic()
    if (policy === 'Always') this.tellPulling()
    try {
      const beginPull = () => this.#beginPull()
      const resolved = await runtime.resolveImage(this.#image, { policy, hasCommand: command.length > 0, beginPull })
      const since = (ms: number): string => goDuration(Math.round(clock.monotonic() - ms))
      const took = `${since(this.#pullsSinceMs ?? askedMs)} (${since(askedMs)} including waiting)`
      const message =
        policy !== 'Always' && resolved.present
          ? `Container image "${this.#image}" already present on machine and can be accessed by the pod`
          : `Successfully pulled image "${this.#image}" in ${took}. Image size: ${resolved.bytes ?? 0} bytes.`
      tell('Normal', 'Pulled', message)
      return resolved
    } finally {
      if (this.#pullsSinceMs !== undefined) turns.give()
    }
  }

  tellPulling(): void {
    if (!this.#isTold) this.#options.tell('Normal', 'Pulling', `Pulling image "${this.#image}"`)
    this.#isTold = true
  }

  async #beginPull(): Promise<Credentials[]> {
    const { clock, pullSecrets, turns } = this.#options
    this.tellPulling()
    await turns.take()
    this.#pullsSinceMs = clock.monotonic()
    return pullSecrets.for(this.#pod, this.#image)
  }
}
