import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { until } from '../harness/until.ts'
import type { Sighting } from './bystander-worker.ts'
import type { ServerProcess } from './server-process.ts'

/** A client that only wants to be served, on a thread of its own. */
export class Bystander {
  readonly #worker: Worker

  constructor(t: Test, { started, pid }: Pick<ServerProcess, 'started' | 'pid'>, path: string) {
    this.#worker = new Worker(new URL('./bystander-worker.ts', import.meta.url), {
      workerData: { ...started, pid, path },
    })
    t.teardown(() => this.#worker.terminate())
  }

  /** What it has seen since the last call. */
  async seen(): Promise<Sighting> {
    const answer = once(this.#worker, 'message')
    this.#worker.postMessage('seen')
    const [sighting] = await answer
    return sighting as Sighting
  }

  /** The same, when it has been served so often. */
  async served(count: number): Promise<Sighting> {
    const all = await this.seen()
    await until(
      async () => {
        const { waits, failures, mostRssBytes } = await this.seen()
        all.waits.push(...waits)
        all.failures.push(...failures)
        all.mostRssBytes = Math.max(all.mostRssBytes, mostRssBytes)
        return all.waits.length + all.failures.length >= count
      },
      { what: `${count} answers for a bystander` },
    )
    return all
  }
}
