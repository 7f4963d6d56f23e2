import type { Clock } from '../../../../shared/clock/clock.ts'
import { connectShim, type ShimConnection, type ShimListener } from './connection.ts'
import { isShimThere, startShimAlone } from './shim.ts'

export interface KeptShimOptions {
  rootDir: string
  clock: Clock
  /** The supervisor starts the shim, and restarts it. */
  supervised: boolean
  /** Names the folder of the nodes with which the shim shares a user namespace, should it need one. */
  neighbours?: string
  listener: ShimListener
  warn(message: string): void
}

/** Without this pause, a shim that cannot be started would be retried without end. */
const RETRY_MS = 100

/** The shim as long as there is one, and the next after it. */
export class KeptShim {
  readonly #options: KeptShimOptions
  #connection: ShimConnection | undefined
  #connected: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: KeptShimOptions) {
    this.#options = options
  }

  /** Requests without a shim fail, and their callers get an error. */
  get connection(): ShimConnection {
    return this.#connection ?? absent
  }

  /** Resolves when there is one again. */
  async ready(): Promise<void> {
    await this.#connected
  }

  /** Resolves with the ids of all that it knows. Rejects when none is there in time. */
  async connect(): Promise<Set<string>> {
    const { rootDir, clock, supervised, neighbours, listener } = this.#options
    if (!supervised && !isShimThere({ rootDir })) startShimAlone({ rootDir })
    const { connection, known } = await connectShim({
      rootDir,
      clock,
      neighbours,
      listener: {
        ...listener,
        lost: () => {
          this.#connection = undefined
          listener.lost()
          if (!this.#isClosed) this.#connected = this.#connectAgain()
        },
      },
    })
    this.#connection = connection
    return known
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connection?.close()
  }

  async #connectAgain(): Promise<void> {
    this.#options.warn('the shim ended, and with it all containers; they are started again')
    while (!this.#isClosed && !this.#connection) {
      await this.connect().catch((error: unknown) => {
        this.#options.warn(String(error))
        return this.#options.clock.machine.sleep(RETRY_MS)
      })
    }
    if (this.#isClosed) await this.#connection?.close()
  }
}

const absent: ShimConnection = {
  run() {},
  network: () => Promise.reject(new Error('the shim ended')),
  closeInput() {},
  resize() {},
  forget() {},
  end() {},
  async close() {},
}
