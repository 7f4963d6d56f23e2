import { dirname, join, resolve } from 'node:path'
import { firstAddress, startControlPlane } from '../cluster/control-plane.ts'
// An API server with its controllers and nothing else: `kubestage up --kubelet=false` without a state folder of its
// own.
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { electionOptions } from '../shared/config/election-options.ts'
import { helpText, type Program } from '../shared/config/help.ts'
import { ConfigError, option } from '../shared/config/option.ts'
import { flag, path, subdomain, text } from '../shared/config/option-types.ts'
import { configOption, resolveOptions } from '../shared/config/resolve.ts'
import { clusterClock, timeOriginOption } from '../shared/config/time-options.ts'
import { createLog } from '../shared/log/log.ts'
import { collectAlone } from '../shared/memory/collect-alone.ts'
import { settle } from '../shared/memory/settle.ts'
import { ensureBootstrapper, ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { givenPlugins } from './http/plugins/given.ts'
import { apiServerOptions } from './options.ts'

const program = {
  name: 'node apiserver/main.ts',
  purpose: 'Starts an API server with its controllers. It logs to standard output.',
  options: {
    config: configOption,
    ...apiServerOptions,
    scheduler: option(flag, { default: true, help: 'Run the scheduler; without it pods stay Pending' }),
    ...electionOptions,
    certDir: option(path, {
      default: '.kubestage/pki',
      help: 'Folder of the CA and all certificates; made where missing',
    }),
    kubeconfig: option(path, {
      default: '.kubestage/kubeconfig',
      help: "Where to write an administrator's kubeconfig",
    }),
    kubeconfigServer: option(text, {
      default: '',
      help: 'Address of the API server in it, where clients need another than we know',
    }),
    bootstrapKubeconfig: option(path, {
      default: '',
      help: "Where to write a kubeconfig with which kubelets may join (a kubelet's --bootstrap-kubeconfig)",
    }),
    bootstrapServer: option(text, { default: '', help: 'Address of the API server in that one' }),
    timeOrigin: timeOriginOption,
    nodeName: option(subdomain, { default: 'node-1', help: 'Node to make a kubelet certificate for' }),
  },
} satisfies Program

async function main(): Promise<void> {
  const resolved = await resolveOptions(program.options, { args: process.argv.slice(2), env: process.env })
  const { values, help } = resolved
  if (help) return void process.stdout.write(helpText(program))
  collectAlone()
  const { host, serviceCidr, certDir, nodeName, kubeconfig, logLevel, tlsSan } = values
  const log = createLog({ level: logLevel, component: 'apiserver' })
  const serviceAddress = firstAddress(serviceCidr)
  // By the kubelets' paths: each makes the folders where it is.
  const volumesDir = join(dirname(resolve(certDir)), 'volumes')
  const nowMs = realClock.now()
  const pki = ensureClusterPki({ directory: certDir, nowMs, host, serviceAddress, nodeName, altNames: tlsSan })
  void [pki.kubeletClient, pki.kubeletServer] // their files are there from now on
  const controlPlane = await startControlPlane({
    ...values,
    plugins: await givenPlugins(resolved, realClock),
    volumesDir,
    joinUrl: values.bootstrapServer || values.kubeconfigServer,
    pki,
    clock: createMovableClock(clusterClock(realClock, values)),
    log,
  })
  const access = { name: 'kubestage', server: controlPlane.url, ca: pki.ca.cert }
  await writeKubeconfig(kubeconfig, { ...access, server: values.kubeconfigServer || access.server, user: pki.admin })
  if (values.bootstrapKubeconfig) {
    const user = ensureBootstrapper({ directory: certDir, nowMs }, pki.ca)
    await writeKubeconfig(values.bootstrapKubeconfig, {
      ...access,
      server: values.bootstrapServer || access.server,
      user,
    })
  }
  log.info({ url: controlPlane.url, kubeconfig }, 'ready')
  settle(realClock)
  const stop = (): void => void controlPlane.close().then(() => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`apiserver: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(error instanceof ConfigError ? error.exitCode : 1)
})
