import { join, relative } from 'node:path'
import { styleText } from 'node:util'
import { storageOption } from '../apiserver/storage/open-storage.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { option } from '../shared/config/option.ts'
import { flag } from '../shared/config/option-types.ts'
import { type Cluster, type ClusterSettings, startCluster } from './cluster.ts'
import { clusterOptions } from './cluster-options.ts'
import { command } from './command.ts'
import { startDetached } from './detach.ts'
import { giveBackMemory } from './give-back-memory.ts'
import { version } from './package.ts'
import { announce } from './running.ts'
import { untilStopped } from './signals.ts'
import { stateDirectory } from './state-directory.ts'

export default command({
  purpose: 'Starts a cluster: API server and controllers in this process, a kubelet in a second one.',
  options: {
    ...clusterOptions,
    detach: option(flag, {
      default: false,
      short: 'd',
      help: 'Return when the cluster is ready, and let it run; its state then stays in a file unless --storage says otherwise',
    }),
  },
  notes: ['Each flag is also a variable (--port: KUBESTAGE_PORT) and a key of kubestage.yaml (port).'],
  async run({ values: { detach, ...values } }) {
    if (detach) return await startInBackground(values)
    const cluster = await startCluster({ settings: values, clock: realClock, onTrouble })
    const takeBack = announce(cluster, values, realClock)
    process.stdout.write(greeting(cluster, values, realClock.monotonic()))
    giveBackMemory(realClock)
    const { again } = await untilStopped()
    takeBack()
    process.stdout.write('\nStopping: pods end first. Ctrl-C again stops at once.\n')
    return await Promise.race([orderly(cluster), again.then(() => atOnce(cluster))])
  },
})

/** The same command again, in a session of its own. */
async function startInBackground({ stateDir, storage }: ClusterSettings): Promise<number> {
  const { root, kubeconfig } = stateDirectory(stateDir)
  const stays = storage === storageOption.default ? [`--storage=sqlite:${join(root, 'state.db')}`] : []
  const given = process.argv.slice(3).filter((arg) => arg !== '-d')
  const args = [...given, ...stays, '--detach=false']
  const { url, pid } = await startDetached({ stateDir, args, clock: realClock })
  process.stdout.write(`Kubestage runs: ${url} (process ${pid}); kubestage down stops it.\n\n`)
  process.stdout.write(`  export KUBECONFIG=${kubeconfig}\n`)
  return 0
}

async function orderly(cluster: Cluster): Promise<number> {
  await cluster.stop()
  process.stdout.write('Stopped.\n')
  return 0
}

async function atOnce(cluster: Cluster): Promise<number> {
  await cluster.kill()
  return 130
}

function onTrouble(line: string): void {
  process.stderr.write(`${styleText('yellow', 'kubestage:', { stream: process.stderr })} ${line}\n`)
}

/** `elapsedMs` since this process began. */
function greeting({ url, state }: Cluster, settings: ClusterSettings, elapsedMs: number): string {
  const strong = (text: string): string => styleText('bold', text)
  const node = settings.kubelet
    ? `${settings.nodeName}: pods run as processes of this machine`
    : 'none (--kubelet=false)'
  const time = settings.timeScale === 1 ? '' : `  time        ${settings.timeScale} times as fast as this machine's\n`
  return `${strong(`Kubestage ${version} is ready`)} after ${(elapsedMs / 1000).toFixed(1)} s

  API server  ${url}
  node        ${node}
${time}  kubeconfig  ${shortest(state.kubeconfig)}
  logs        ${shortest(state.logs)}/

Try, in another terminal:

  export KUBECONFIG=${state.kubeconfig}
  kubectl apply -f examples/graceful-delete/pod.yaml && kubectl logs -f web --all-containers
  kubectl delete --raw '/api/v1/namespaces/default/pods/web?reason=Update'

Ctrl-C ends everything.
`
}

function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}
