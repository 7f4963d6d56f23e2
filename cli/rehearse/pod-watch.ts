import type { Pod } from '../../shared/api/types.ts'
import type { Client, ObjectRef } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'

export class PodWatch {
  /** Last state of the pod that was seen. */
  last: Pod | undefined
  #isGone = false
  readonly #ended = new AbortController()
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #failure: unknown

  /** Starts the watch. `clock` is the machine's clock. */
  constructor(client: Client, { namespace, name }: Required<ObjectRef>, clock: Clock) {
    this.#clock = clock
    this.#follow(client, { namespace, name }).catch((error) => {
      this.#failure = error
      this.#tell()
    })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /**
   * Resolves to whether the condition held before the timeout. Resolves at once when the pod is gone, and rejects if
   * the watch fails.
   */
  async until(condition: (pod: Pod) => boolean, timeoutMs: number): Promise<boolean> {
    const holds = (): boolean => this.last !== undefined && condition(this.last)
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (this.#failure) reject(this.#failure)
        else if (holds() || this.#isGone) resolve()
        else return
        timer.cancel()
        this.#listeners.delete(look)
      }
      const timer = this.#clock.setTimer(timeoutMs, () => {
        this.#listeners.delete(look)
        resolve()
      })
      this.#listeners.add(look)
      look()
    })
    return holds()
  }

  close(): void {
    this.#ended.abort()
  }

  async #follow(client: Client, { namespace, name }: Required<ObjectRef>): Promise<void> {
    const fieldSelector = `metadata.name=${name}`
    for await (const { type, object } of client.watch<Pod>(pods, {
      namespace,
      fieldSelector,
      signal: this.#ended.signal,
    })) {
      this.last = object
      this.#isGone = type === 'DELETED'
      this.#tell()
      if (this.#isGone) return
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
