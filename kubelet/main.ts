import { flushCompileCache } from 'node:module'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { createRestClient } from '../shared/client/rest-client.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { helpText } from '../shared/config/help.ts'
import { ConfigError } from '../shared/config/option.ts'
import { clusterClock } from '../shared/config/time-options.ts'
import { createLog } from '../shared/log/log.ts'
import { type KubeletConfig, kubeletOptions, readKubeletConfig } from './config.ts'
import { runNode } from './run-node.ts'

const EXIT_SIGNALLED = 130

async function main(): Promise<void> {
  const { values, help } = await readKubeletConfig(process.argv.slice(2))
  if (help) {
    process.stdout.write(
      helpText({ name: 'kubelet', purpose: 'Runs the pods bound to one node.', options: kubeletOptions }),
    )
    return
  }
  await run(values)
}

async function run(config: KubeletConfig): Promise<void> {
  if (!config.kubeconfig) throw new ConfigError('--kubeconfig is missing: it says where the API server is')
  if (config.supervised) endWithStandardInput()
  const log = createLog({ level: config.logLevel, component: 'kubelet' })
  const clock = clusterClock(realClock, config)
  const client = createRestClient({ ...(await loadKubeconfig(config.kubeconfig)), clock, userAgent: 'kubelet/v1.36.3' })
  const node = await runNode({ config, client, clock, log })
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) process.exit(EXIT_SIGNALLED)
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
  await node.ready
  log.info({ node: config.nodeName }, 'ready')
  // So that the next start is quick and small also when this one is killed.
  flushCompileCache()
}

/** Our supervisor holds the other end: when that closes, it is gone, and our containers end by the shim. */
function endWithStandardInput(): void {
  process.stdin.on('end', () => process.exit(1)).on('error', () => process.exit(1))
  process.stdin.resume()
}

main().catch((error: unknown) => {
  process.stderr.write(`kubelet: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(1)
})
