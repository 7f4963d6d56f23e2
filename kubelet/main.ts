import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { type ClusterAccess, createRestClient } from '../shared/client/rest-client.ts'
import { trackedClient } from '../shared/client/tracked-client.ts'
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { Activity } from '../shared/concurrency/activity.ts'
import { endWith } from '../shared/concurrency/end-with.ts'
import { helpText } from '../shared/config/help.ts'
import { ConfigError, UsageError } from '../shared/config/option.ts'
import { clusterClock } from '../shared/config/time-options.ts'
import { createLog, type Logger } from '../shared/log/log.ts'
import { settle } from '../shared/memory/settle.ts'
import type { ClientCertificate } from './certificates/client-certificate.ts'
import { type KubeletConfig, kubeletOptions, nodeAddress, readKubeletConfig } from './config.ts'
import { giveBackMemory } from './give-back-memory.ts'
import { serverKind } from './node/server-kind.ts'
import { shutdownMs } from './node/shutdown-options.ts'
import { loadRuntime, type RunningNode, runNode } from './run-node.ts'
import { readMovedClock } from './runtime/process/clock-file.ts'

const EXIT_SIGNALLED = 130
/** Descriptor that a supervisor passes on: stderr of the cluster, or the life line of its pods. */
const passed = 3
/** For the last statuses and the processes' ends, beyond the pods' own time. */
const stopMarginMs = 2_500

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const supervisor = args.includes('--supervised') ? new Supervisor() : undefined
  await Promise.all([supervisor?.saysBegin(), supervisor && loadRuntime()])
  const { values, help } = await readKubeletConfig(args)
  if (help) {
    process.stdout.write(
      helpText({ name: 'kubelet', purpose: 'Runs the pods bound to one node.', options: kubeletOptions }),
    )
    return
  }
  await run(values, supervisor)
}

async function run(config: KubeletConfig, supervisor: Supervisor | undefined): Promise<void> {
  const log = createLog({ level: config.logLevel, component: 'kubelet' })
  let node: RunningNode | undefined
  let stopping = false
  const ending = new AbortController()
  const stop = (signal: string): void => {
    if (stopping) process.exit(EXIT_SIGNALLED)
    if (!node) process.exit(0)
    stopping = true
    ending.abort()
    log.info({ signal }, 'ending the pods')
    node.stop().then(
      () => process.exit(0),
      (error) => {
        log.error({ err: error }, 'the end was not orderly')
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  supervisor?.onGone(() => {
    realClock.setTimer(shutdownMs(config) + stopMarginMs, () => process.exit(1))
    stop('the API server ended')
  })
  const clock = createMovableClock(clusterClock(realClock, config), readMovedClock(config.rootDir))
  const { access, certificate } = await credentials(config, log)
  const activity = new Activity()
  const direct = createRestClient({ ...access, clock, userAgent: 'kubelet/v1.36.3', http2: true })
  const apiServer = new URL(access.server)
  const isKubestage = serverKind({
    version: () => direct.version(),
    clock,
    onError: (error) => log.warn({ err: error }, 'the API server has not been reached yet'),
  })
  node = await runNode({
    config: { ...config, nodeIp: await nodeAddress(config, apiServer, isKubestage) },
    client: trackedClient(direct, activity),
    apiServer,
    ...(!config.supervised && { isKubestage }),
    clock,
    log,
    moving: { clock, activity },
  })
  void certificate?.keep(direct, ending.signal)
  await node.ready
  giveBackMemory(realClock)
  log.info({ node: config.nodeName }, 'ready')
  settle(realClock)
}

interface Credentials {
  access: ClusterAccess
  /** Where the kubelet asked for them itself. */
  certificate?: ClientCertificate
}

async function credentials(config: KubeletConfig, log: Logger): Promise<Credentials> {
  const { kubeconfig, bootstrapKubeconfig, nodeName } = config
  if (bootstrapKubeconfig) {
    const { ClientCertificate } = await import('./certificates/client-certificate.ts')
    const onError = (error: unknown): void => log.warn({ err: error }, 'no certificate for the API server yet')
    const certificate = new ClientCertificate({ kubeconfig, bootstrapKubeconfig, nodeName, clock: realClock, onError })
    return { access: await certificate.first(), certificate }
  }
  if (!kubeconfig) throw new UsageError('--kubeconfig is missing: it says where the API server is')
  return { access: await loadKubeconfig(kubeconfig) }
}

/** The process that holds the other end of our standard input. When that closes, it is gone, and our containers end. */
class Supervisor {
  #end = (): void => process.exit(1)
  #pods = 'killed'

  constructor() {
    const gone = (): void => this.#end()
    process.stdin.on('end', gone).on('error', gone)
    process.stdin.resume()
  }

  /** It starts us ahead, beside the server: only now there is a configuration. */
  async saysBegin(): Promise<void> {
    const [words] = (await once(process.stdin, 'data')) as [Buffer]
    this.#pods = /pods are (\w+)/.exec(words.toString())?.[1] ?? this.#pods
  }

  /**
   * Where it wants the pods to end in order, they do. Where it wants them to be kept, we wait: for the next server,
   * which kills us when its own kubelet begins, for SIGTERM from the guardian, or for the guardian's end. Otherwise we
   * end at once, and the shim ends the pods.
   */
  onGone(endPods: () => void): void {
    if (this.#pods === 'kept') {
      this.#end = () => {}
      endWith(passed)
    }
    if (this.#pods !== 'stopped') return
    this.#end = () => {
      report('the API server ended, and its objects were in memory: pods end in order now')
      endPods()
    }
  }
}

/** To the terminal of the cluster, when it has let us have it. */
function report(line: string): void {
  try {
    writeSync(passed, `kubestage: ${line}\n`)
  } catch {
    // It is gone: the log has the same.
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`kubelet: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(error instanceof ConfigError ? error.exitCode : 1)
})
