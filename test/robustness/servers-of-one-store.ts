import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killIfThere } from '../harness/processes.ts'
import { until } from '../harness/until.ts'
import { isAlive, type Server, type ServerProcess, startTimeoutMs } from './server.ts'

interface Place {
  url: string
  pid?: number
}

/**
 * The API servers of one `kubestage up --apiservers N`, the holder of the store first. Each is killed alone, and started
 * again by the cluster: the holder by its guardian, where its store is a file, or by a user if the guardian gives up.
 */
export const serversOfOneStore = (cluster: ServerProcess, count: number): Server[] =>
  Array.from({ length: count }, (_, index) => new ServerOfStore(cluster, index))

class ServerOfStore implements Server {
  readonly name: string
  readonly links: Server['links'] = []
  readonly #cluster: ServerProcess
  readonly #index: number
  #killed: number | undefined

  constructor(cluster: ServerProcess, index: number) {
    this.name = `server-${index}`
    this.#cluster = cluster
    this.#index = index
  }

  get url(): string {
    return this.#place()?.url ?? this.#cluster.url
  }

  get stateDir(): string {
    return this.#cluster.stateDir
  }

  get access(): Server['access'] {
    return this.#cluster.access
  }

  get pid(): number {
    return this.#place()?.pid ?? Number.NaN
  }

  /** Resolves when the cluster has started it again. */
  async start(): Promise<void> {
    const isBack = async (): Promise<boolean> => {
      await this.#cluster.startIfOver()
      return !Number.isNaN(this.pid) && this.pid !== this.#killed && isAlive(this.pid)
    }
    await until(isBack, { what: `${this.name} to be back`, timeoutMs: startTimeoutMs })
  }

  async kill(): Promise<void> {
    await until(() => !Number.isNaN(this.pid), { what: `${this.name} to run`, timeoutMs: startTimeoutMs })
    const { pid } = this
    this.#killed = pid
    killIfThere(pid)
    await until(() => !isAlive(pid), { what: `${this.name} to end` })
  }

  moveClock(offsetMs: number): void {
    this.#cluster.writeClock(offsetMs)
    this.signal('SIGUSR2')
  }

  writeClock(offsetMs: number): void {
    this.#cluster.writeClock(offsetMs)
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal)
  }

  log(): string {
    return this.#cluster.log()
  }

  #place(): Place | undefined {
    try {
      const told = JSON.parse(readFileSync(join(this.stateDir, 'running.json'), 'utf8')) as Place & {
        ownUrl: string
        otherServers?: Place[]
      }
      return [{ ...told, url: told.ownUrl }, ...(told.otherServers ?? [])][this.#index]
    } catch {
      return undefined
    }
  }
}
