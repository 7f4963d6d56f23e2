import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { EtcdClient } from './client.ts'

/** The key, below no prefix, by which all servers of one etcd agree on who compacts. */
const key = 'compact_rev_key'

/**
 * Every five minutes one of all the servers on this etcd, real ones among them, makes it forget the history from before
 * the last time. The version of the key is the time that they agree on: the first whose comparison holds compacts.
 * Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go.
 */
export class Compactor {
  readonly #client: EtcdClient
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #onError: (error: Error) => void
  #version = 0
  #revision = 0
  #timer: Timer

  constructor(
    client: EtcdClient,
    { clock, intervalMs, onError }: { clock: Clock; intervalMs: number; onError(error: Error): void },
  ) {
    this.#client = client
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#onError = onError
    this.#timer = this.#wait()
  }

  close(): void {
    this.#timer.cancel()
  }

  #wait(): Timer {
    return this.#clock.setTimer(
      this.#intervalMs,
      () => {
        this.#timer = this.#wait()
        this.#compact().catch(this.#onError)
      },
      { background: true },
    )
  }

  async #compact(): Promise<void> {
    const before = this.#revision
    const { succeeded, header, responses } = await this.#client.call(
      'txn',
      {
        compare: [{ result: 0, target: 0, key, version: this.#version }],
        success: [{ request_put: { key, value: String(before) } }],
        failure: [{ request_range: { key } }],
      },
      { isRepeatable: false },
    )
    this.#revision = header?.revision ?? 0
    if (!succeeded) {
      this.#version = responses[0]?.response_range?.kvs[0]?.version ?? 0
      return
    }
    this.#version++
    if (before > 0) await this.#client.call('compact', { revision: before }, { isRepeatable: true })
  }
}
