import { once } from 'node:events'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { type ClusterAccess, createRestClient, type VersionInfo } from '../shared/client/rest-client.ts'
import { trackedClient } from '../shared/client/tracked-client.ts'
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { Activity } from '../shared/concurrency/activity.ts'
import { helpText } from '../shared/config/help.ts'
import { kubernetesVersion } from '../shared/config/kubernetes-version.ts'
import { ConfigError, UsageError } from '../shared/config/option.ts'
import { clusterClock } from '../shared/config/time-options.ts'
import { createLog, type Logger } from '../shared/log/log.ts'
import { settle } from '../shared/memory/settle.ts'
import { type KubeletConfig, kubeletOptions, nodeAddress, readKubeletConfig } from './config.ts'
import { giveBackMemory } from './give-back-memory.ts'
import { loadRuntime, type RunningNode, runNode } from './run-node.ts'
import { readMovedClock } from './runtime/process/clock-file.ts'

const EXIT_SIGNALLED = 130

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  if (args.includes('--supervised')) await Promise.all([toldToBegin(), loadRuntime()])
  const { values, help } = await readKubeletConfig(args)
  if (help) {
    process.stdout.write(
      helpText({ name: 'kubelet', purpose: 'Runs the pods bound to one node.', options: kubeletOptions }),
    )
    return
  }
  await run(values)
}

async function run(config: KubeletConfig): Promise<void> {
  const log = createLog({ level: config.logLevel, component: 'kubelet' })
  let node: RunningNode | undefined
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(EXIT_SIGNALLED)
    if (!node) process.exit(0)
    stopping = true
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
  const clock = createMovableClock(clusterClock(realClock, config), readMovedClock(config.rootDir))
  const access = await credentials(config, log)
  const activity = new Activity()
  const direct = createRestClient({ ...access, clock, userAgent: 'kubelet/v1.36.3', http2: true })
  const apiServer = new URL(access.server)
  node = await runNode({
    config: { ...config, nodeIp: nodeAddress(config, apiServer) },
    client: trackedClient(direct, activity),
    apiServer,
    ...(!config.supervised && { isKubestage: () => direct.version().then(isKubestage) }),
    clock,
    log,
    moving: { clock, activity },
  })
  await node.ready
  giveBackMemory(realClock)
  log.info({ node: config.nodeName }, 'ready')
  settle(realClock)
}

async function credentials(config: KubeletConfig, log: Logger): Promise<ClusterAccess> {
  const { kubeconfig, bootstrapKubeconfig, nodeName } = config
  if (bootstrapKubeconfig) {
    const { bootstrapCredentials } = await import('./certificates/bootstrap.ts')
    const onError = (error: unknown): void => log.warn({ err: error }, 'no credentials yet')
    return bootstrapCredentials({ kubeconfig, bootstrapKubeconfig, nodeName, clock: realClock, onError })
  }
  if (!kubeconfig) throw new UsageError('--kubeconfig is missing: it says where the API server is')
  return loadKubeconfig(kubeconfig)
}

/** No other build has such a commit. */
const isKubestage = ({ gitCommit }: VersionInfo): boolean => gitCommit === kubernetesVersion.gitCommit

/** The supervisor starts us ahead, beside the server: only now there is a configuration. */
async function toldToBegin(): Promise<void> {
  endWithStandardInput()
  await once(process.stdin, 'data')
}

/** Our supervisor holds the other end: when that closes, it is gone, and our containers end by the shim. */
function endWithStandardInput(): void {
  process.stdin.on('end', () => process.exit(1)).on('error', () => process.exit(1))
  process.stdin.resume()
}

main().catch((error: unknown) => {
  process.stderr.write(`kubelet: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(error instanceof ConfigError ? error.exitCode : 1)
})
