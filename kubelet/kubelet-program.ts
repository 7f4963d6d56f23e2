import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import {
  type ClusterAccess,
  createRestClient,
  type RestClientOptions,
  type ServerClient,
} from '../shared/client/rest-client.ts'
import { wrappedClient } from '../shared/client/wrapped-client.ts'
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { Activity } from '../shared/concurrency/activity.ts'
import { UsageError } from '../shared/config/option.ts'
import { clusterClock } from '../shared/config/time-options.ts'
import { createLog, type Logger } from '../shared/log/log.ts'
import { settle } from '../shared/memory/settle.ts'
import type { ClientCertificate } from './certificates/client-certificate.ts'
import { type KubeletConfig, nodeAddress } from './config.ts'
import { giveBackMemory } from './give-back-memory.ts'
import { serverKind } from './node/server-kind.ts'
import { type RunningNode, runNode } from './run-node.ts'
import { readMovedClock } from './runtime/process/clock-file.ts'

interface Credentials {
  access: ClusterAccess
  /** Present if the kubelet requested its credentials itself. */
  certificate?: ClientCertificate
}

/** A kubelet as a process of its own: from its configuration to a node that is ready, until it is stopped. */
export class KubeletProgram {
  readonly #config: KubeletConfig
  readonly #log: Logger
  readonly #ending = new AbortController()
  #node: RunningNode | undefined

  /** Logs to standard output, or to `logFile`. */
  constructor(config: KubeletConfig, { logFile }: { logFile?: string } = {}) {
    this.#config = config
    this.#log = createLog({ file: logFile, level: config.logLevel, component: 'kubelet' })
  }

  /** Says whether there is a node to end in order; false before. */
  get hasNode(): boolean {
    return this.#node !== undefined
  }

  /** Resolves when the node is ready. */
  async start(): Promise<void> {
    const config = this.#config
    const log = this.#log
    const clock = createMovableClock(clusterClock(realClock, config), readMovedClock(config.rootDir))
    const { access, certificate } = await this.#credentials()
    const activity = new Activity()
    const direct = await this.#client({ ...access, clock })
    const apiServer = new URL(config.server[0] ?? access.server)
    const isKubestage = serverKind({
      version: () => direct.version(),
      clock,
      onError: (error) => log.warn({ err: error }, 'the API server has not been reached yet'),
    })
    this.#node = await runNode({
      config: { ...config, nodeIp: await nodeAddress(config, apiServer, isKubestage) },
      client: wrappedClient(direct, (call) => activity.track(call())),
      apiServer,
      ...(!config.supervised && { isKubestage }),
      clock,
      log,
      moving: { clock, activity },
    })
    void certificate?.keep(direct, this.#ending.signal)
    await this.#node.ready
    giveBackMemory(realClock)
    log.info({ node: config.nodeName }, 'ready')
    settle(realClock)
  }

  /** Ends the pods in order, then everything else. Rejects where that failed, which is logged. */
  async stop(why: string): Promise<void> {
    this.#ending.abort()
    this.#log.info({ signal: why }, 'ending the pods')
    try {
      await this.#node?.stop()
    } catch (error) {
      this.#log.error({ err: error }, 'the end was not orderly')
      throw error
    }
  }

  async #client(options: RestClientOptions): Promise<ServerClient> {
    const to = (server: string): ServerClient =>
      createRestClient({ ...options, server, userAgent: 'kubelet/v1.36.3', http2: true })
    const { server: servers } = this.#config
    if (servers.length < 2) return to(servers[0] ?? options.server)
    const { severalServers } = await import('../shared/client/several-servers.ts')
    return severalServers(servers.map(to))
  }

  async #credentials(): Promise<Credentials> {
    const { kubeconfig, bootstrapKubeconfig, nodeName, server: servers } = this.#config
    if (bootstrapKubeconfig) {
      const { ClientCertificate } = await import('./certificates/client-certificate.ts')
      const onError = (error: unknown): void => this.#log.warn({ err: error }, 'no certificate for the API server yet')
      const certificate = new ClientCertificate({
        kubeconfig,
        bootstrapKubeconfig,
        servers,
        nodeName,
        clock: realClock,
        onError,
      })
      return { access: await certificate.first(), certificate }
    }
    if (!kubeconfig) throw new UsageError('--kubeconfig is missing: it says where the API server is')
    return { access: await loadKubeconfig(kubeconfig) }
  }
}
