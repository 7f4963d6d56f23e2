import { relative } from 'node:path'
import { styleText } from 'node:util'
import { realClock } from '../shared/clock/real-clock.ts'
import { type Cluster, type ClusterSettings, startCluster } from './cluster.ts'
import { clusterOptions } from './cluster-options.ts'
import { command } from './command.ts'
import { version } from './package.ts'
import { untilStopped } from './signals.ts'

export default command({
  purpose: 'Starts a cluster: API server and controllers in this process, a kubelet in a second one.',
  options: clusterOptions,
  notes: ['Each flag is also a variable (--port: KUBESTAGE_PORT) and a key of kubestage.yaml (port).'],
  async run({ values }) {
    const cluster = await startCluster({ settings: values, clock: realClock, onTrouble })
    process.stdout.write(greeting(cluster, values, realClock.monotonic()))
    const { again } = await untilStopped()
    process.stdout.write('\nStopping: pods end first. Ctrl-C again stops at once.\n')
    return await Promise.race([orderly(cluster), again.then(() => atOnce(cluster))])
  },
})

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
  return `${strong(`Kubestage ${version} is ready`)} after ${(elapsedMs / 1000).toFixed(1)} s

  API server  ${url}
  node        ${node}
  kubeconfig  ${shortest(state.kubeconfig)}
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
