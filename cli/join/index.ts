import { join } from 'node:path'
import { openStateDirectory, tellStarter, writingState } from '../../cluster/index.ts'
import { completed, type KubeletConfig, kubeletOptions } from '../../kubelet/config.ts'
import { defaultsOf, option } from '../../shared/config/option.ts'
import { flag } from '../../shared/config/option-types.ts'
import type { Resolved } from '../../shared/config/resolve.ts'
import { command } from '../command.ts'
import { withProgress } from '../terminal/progress.ts'
import { admit } from './admit.ts'
import { type Joined, NodeFolder, nodeFolderOption } from './node-folder.ts'
import { discoveryOptions, wantedBy } from './wanted.ts'

/** Joining sets these options itself. */
const {
  config,
  kubeconfig,
  server,
  bootstrapKubeconfig,
  rootDir,
  port,
  tlsCertFile,
  tlsPrivateKeyFile,
  clientCaFile,
  supervised,
  ...ofNode
} = kubeletOptions

const options = {
  config,
  stateDir: nodeFolderOption,
  ...discoveryOptions,
  detach: option(flag, { default: false, short: 'd', help: 'Return when the node is registered, and let it run' }),
  kubeletPort: port,
  ...ofNode,
}

export default command({
  purpose: 'Makes this machine a node of a cluster: gets credentials by a token, and runs its kubelet until Ctrl-C.',
  usage: '[HOST:PORT…]',
  options,
  ownFile: true,
  notes: [
    'kubestage token create --print-join-command prints what to type here. Several API servers are asked in turn when one fails.',
    'The token is needed once: started again with the same --state-dir, the node keeps its name and its certificate.',
    '',
    '  kubestage join 192.0.2.10:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HEX --node-name worker-1',
    '  kubestage leave',
  ],
  async run(resolved) {
    const { values, positionals, origins } = resolved
    const wanted = wantedBy(positionals, values)
    if (values.detach) return await inBackground(values.stateDir)
    const { release } = await writingState(values.stateDir, () =>
      openStateDirectory(values.stateDir, { end: `kubestage down --state-dir ${values.stateDir}` }),
    )
    try {
      const folder = new NodeFolder(values.stateDir)
      const admitted = admit(folder, {
        ...wanted,
        ownName: origins.nodeName === 'default' ? undefined : values.nodeName,
        machineName: values.nodeName,
        skipsPins: values.discoveryTokenUnsafeSkipCaVerification,
      })
      return await runNode(folder, await withProgress('Joining', admitted), values)
    } finally {
      release()
    }
  },
})

async function runNode(
  folder: NodeFolder,
  joined: Joined,
  values: Resolved<typeof options>['values'],
): Promise<number> {
  const { runKubelet } = await import('../programs/run-kubelet.ts')
  const { nodeName, servers } = joined
  const logFile = join(folder.logs, 'kubelet.log')
  return await runKubelet(configOf(folder, joined, values), {
    logFile,
    portFlag: '--kubelet-port',
    async onReady() {
      await tellStarter({ state: 'ready', url: servers[0] ?? '' })
      process.stdout.write(`Node ${nodeName} has joined ${servers.join(', ')}; its log is ${logFile}.\n`)
      process.stdout.write('Ctrl-C ends its pods and its kubelet; kubestage leave also removes what it kept.\n')
    },
    onStopping: () => void process.stdout.write('Stopping: pods end first. Ctrl-C again stops at once.\n'),
  })
}

function configOf(
  folder: NodeFolder,
  { nodeName, servers }: Joined,
  values: Resolved<typeof options>['values'],
): KubeletConfig {
  return completed({
    ...defaultsOf(kubeletOptions),
    ...values,
    nodeName,
    server: [...servers],
    kubeconfig: folder.kubeconfig,
    // There is none any more: the kubelet renews its certificate with the one it has.
    bootstrapKubeconfig: join(folder.root, 'bootstrap.kubeconfig'),
    rootDir: folder.kubelet,
    port: values.kubeletPort,
    hiddenPaths: [...values.hiddenPaths, folder.root],
  })
}

async function inBackground(stateDir: string): Promise<number> {
  const { detached } = await import('../process/detach.ts')
  const started = await detached('Joining', { command: 'join', stateDir, flags: [], isDurable: false })
  if (!started) return 130
  process.stdout.write(`The node runs (process ${started.pid}); kubestage leave ends it.\n`)
  return 0
}
