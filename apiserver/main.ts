// An API server with its controllers and nothing else: `kubestage up --kubelet=false` without a state folder of its own.
import { realClock } from '../shared/clock/real-clock.ts'
import { helpText, type Program } from '../shared/config/help.ts'
import { ConfigError, option } from '../shared/config/option.ts'
import { flag, path, text } from '../shared/config/option-types.ts'
import { configOption, resolveOptions } from '../shared/config/resolve.ts'
import { clusterClock, timeOriginOption } from '../shared/config/time-options.ts'
import { createLog } from '../shared/log/log.ts'
import { ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { firstAddress, startControlPlane } from './control-plane.ts'
import { apiServerOptions } from './options.ts'

const program = {
  name: 'node apiserver/main.ts',
  purpose: 'Starts an API server with its controllers. It logs to standard output.',
  options: {
    config: configOption,
    ...apiServerOptions,
    scheduler: option(flag, { default: true, help: 'Run the scheduler; without it pods stay Pending' }),
    certDir: option(path, {
      default: '.kubestage/pki',
      help: 'Folder of the CA and all certificates; made where missing',
    }),
    kubeconfig: option(path, {
      default: '.kubestage/kubeconfig',
      help: "Where to write an administrator's kubeconfig",
    }),
    timeOrigin: timeOriginOption,
    nodeName: option(text, { default: 'node-1', help: 'Node to make a kubelet certificate for' }),
  },
} satisfies Program

async function main(): Promise<void> {
  const { values, help } = await resolveOptions(program.options, { args: process.argv.slice(2), env: process.env })
  if (help) return void process.stdout.write(helpText(program))
  const { host, serviceCidr, certDir, nodeName, kubeconfig, logLevel } = values
  const log = createLog({ level: logLevel, component: 'apiserver' })
  const serviceAddress = firstAddress(serviceCidr)
  const pki = ensureClusterPki({ directory: certDir, nowMs: realClock.now(), host, serviceAddress, nodeName })
  const controlPlane = await startControlPlane({ ...values, pki, clock: clusterClock(realClock, values), log })
  await writeKubeconfig(kubeconfig, { name: 'kubestage', server: controlPlane.url, ca: pki.ca.cert, user: pki.admin })
  log.info({ url: controlPlane.url, kubeconfig }, 'ready')
  const stop = (): void => void controlPlane.close().then(() => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`apiserver: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(1)
})
