import { join } from 'node:path'
import { type StorageChoice, showStorage } from '../../apiserver/storage/open-storage.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { makeFolder } from '../../shared/files/make-folder.ts'
import { lowLimits } from '../../shared/limits/low-limits.ts'
import type { ClusterPki } from '../../shared/pki/cluster-pki.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import { guardian } from '../guardian.ts'
import { packageRoot } from '../package.ts'
import type { ClusterSettings } from '../settings.ts'
import { ownPort, sharesPort } from '../shared-port.ts'
import type { StateDirectory } from '../state-directory.ts'
import type { Ending } from './child.ts'
import { KeptProcess } from './kept-process.ts'
import { lastWords } from './last-words.ts'
import { LeftRunning } from './left-running.ts'
import { serverFlags } from './server-flags.ts'
import { tied } from './tied.ts'

const readyTimeoutMs = 60_000
const betweenMs = 100

/** Becomes its arguments. Their flags say everything: a variable would win over a default. */
const withoutVariables = `
for name in $(env | sed -n 's/^\\(KUBESTAGE_[A-Z0-9_]*\\)=.*/\\1/p'); do unset "$name"; done
exec "$@"`
const stopTimeoutMs = 10_000

export interface ApiServersOptions {
  settings: ClusterSettings
  state: Pick<StateDirectory, 'root' | 'logs' | 'pki'>
  pki: ClusterPki
  /** The etcd that all API servers use, or the store that this process offers. */
  storage: StorageChoice
  etcdCafile?: string
  etcdCertfile?: string
  etcdKeyfile?: string
  /** URL of the first server, which runs in this process; all have it where they share a port. */
  url: string
  timeOriginMs: number
  /** Holds the machine's clock. */
  clock: Clock
  onTrouble(line: string): void
  /** Runs for each server that is started. */
  onStart?(): void
}

/** Describes an API server other than the first. */
export interface OtherServer {
  /** Names the address at which this server alone answers. */
  url: string
  /** Holds the process ID; undefined while the server does not run. */
  pid: number | undefined
}

/**
 * Keeps the API servers besides the one in this process, each a `kubestage apiserver` on the same store. A server that
 * ends is started again. If this process has a guardian, the servers outlive it, and the next process takes them over.
 */
export class ApiServers {
  readonly #servers: readonly ApiServer[]

  private constructor(servers: readonly ApiServer[]) {
    this.#servers = servers
  }

  /**
   * Resolves when all servers answer. If one does not, stops all and rejects with a ConfigError. If the guardian
   * started this process again, resolves at once: this process does not depend on the others, some of which may run.
   */
  static async start(options: ApiServersOptions): Promise<ApiServers> {
    const made: ApiServer[] = []
    const servers = new ApiServers(made)
    const onStart = (): void => {
      guardian()?.others(servers.list().flatMap(({ pid }) => pid ?? []))
      options.onStart?.()
    }
    for (let number = 2; number <= options.settings.apiservers; number++)
      made.push(await ApiServer.make(number, { ...options, onStart }))
    onStart()
    if (guardian()?.restarts) return servers
    try {
      await Promise.all(made.map((server) => server.answers()))
      return servers
    } catch (error) {
      await servers.stop()
      throw error
    }
  }

  list(): OtherServer[] {
    return this.#servers.map(({ url, pid }) => ({ url, pid }))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()))
  }
}

interface Place {
  port: number
}

class ApiServer {
  readonly url: string
  readonly #number: number
  readonly #options: ApiServersOptions
  readonly #left: LeftRunning<Place>
  readonly #process: KeptProcess
  readonly #logFile: string
  #isReady = Boolean(guardian()?.restarts)

  private constructor(number: number, options: ApiServersOptions, { left, port, flags }: Parts) {
    const { clock, onStart, state, url } = options
    this.#number = number
    this.#options = options
    this.#left = left
    this.#logFile = serverLog(state, number)
    const own = new URL(url)
    own.port = String(port)
    this.url = own.origin
    const program = join(packageRoot, 'bin', 'kubestage.mjs')
    this.#process = new KeptProcess({
      spec: {
        ...tied('apiserver', ['sh', '-c', withoutVariables, 'sh', process.execPath, program, 'apiserver', ...flags]),
        logFile: this.#logFile,
        stdin: left.lifeLine,
      },
      clock,
      first: left.process(clock),
      onStart(child) {
        left.write(child, { port })
        onStart?.()
      },
      onCrash: (ending, inMs) => this.#crashed(ending, inMs),
    })
  }

  static async make(number: number, options: ApiServersOptions): Promise<ApiServer> {
    const { settings, state, storage, url, timeOriginMs } = options
    const folder = join(state.root, 'apiservers', String(number))
    const left = new LeftRunning<Place>(folder)
    const port = left.place()?.port ?? (await ownPort(settings, number))
    const ports = sharesPort(settings)
      ? { port: Number(new URL(url).port), ownPort: port }
      : { port, ownPort: '' as const }
    const { etcdCafile = '', etcdCertfile = '', etcdKeyfile = '' } = options
    makeFolder(folder)
    const config = join(folder, 'config.yaml')
    writePrivately(config, '# The flags say everything.\n')
    const flags = serverFlags(settings, {
      ...{ config, ...ports, certDir: state.pki, kubeconfig: join(folder, 'kubeconfig') },
      ...{ storage: showStorage(storage), etcdCafile, etcdCertfile, etcdKeyfile },
      timeOrigin: toTime(timeOriginMs),
    })
    return new ApiServer(number, options, { left, port, flags })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  async stop(): Promise<void> {
    await this.#process.stop(stopTimeoutMs)
    this.#left.forget()
  }

  /** Resolves when it serves. Rejects if it ends before, or takes too long. */
  async answers(): Promise<void> {
    const { pki, clock } = this.#options
    const client = createRestClient({ server: this.url, ca: pki.ca.cert, ...pki.admin, clock })
    const deadline = clock.monotonic() + readyTimeoutMs
    const ended = this.#process.firstCrash.then((ending) => {
      throw this.#notStarted(`ended (${ending})`)
    })
    ended.catch(() => {})
    try {
      while (!(await Promise.race([client.version().then(Boolean, () => false), ended]))) {
        if (clock.monotonic() > deadline) throw this.#notStarted(`did not answer within ${readyTimeoutMs / 1000} s`)
        await Promise.race([clock.sleep(betweenMs), ended])
      }
      this.#isReady = true
    } finally {
      await client.close()
    }
  }

  #notStarted(what: string): ConfigError {
    return new ConfigError(`--apiservers: API server ${this.#number} ${what}${lastWords(this.#logFile)}${lowLimits()}`)
  }

  #crashed(ending: Ending, restartInMs: number): void {
    const { onStart, onTrouble } = this.#options
    this.#left.ended()
    onStart?.()
    if (!this.#isReady) return // reported as the reason why nothing starts
    onTrouble(
      `API server ${this.#number} (${this.url}) ended (${ending}) and starts again in ${restartInMs / 1000} s; the others go on`,
    )
  }
}

interface Parts {
  left: LeftRunning<Place>
  port: number
  flags: readonly string[]
}

const serverLog = ({ logs }: Pick<StateDirectory, 'logs'>, number: number): string =>
  join(logs, `apiserver-${number}.log`)
