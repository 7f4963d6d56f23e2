import { rmdirSync, rmSync } from 'node:fs'
import { Adopted } from '../../cluster/index.ts'
import { ignoring } from '../../shared/api/status/status-error.ts'
import { nodes } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError, option } from '../../shared/config/option.ts'
import { duration } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { lockHolder } from '../../shared/files/lock.ts'
import { textOf } from '../../shared/files/readable.ts'
import { kubeconfigOption } from '../access/cluster-access.ts'
import { withClient } from '../access/cluster-client.ts'
import { command } from '../command.ts'
import { endProcess } from '../process/end-process.ts'
import { withProgress } from '../terminal/progress.ts'
import { NodeFolder, nodeFolderOption } from './node-folder.ts'

const shimMs = 10_000

export default command({
  purpose: 'Ends a node that joined: its pods in order, then its kubelet; removes its certificates and files.',
  options: {
    config: configOption,
    stateDir: nodeFolderOption,
    kubeconfig: { ...kubeconfigOption, help: "An administrator's, by which the Node object is deleted as well" },
    timeout: option(duration, { default: 60_000, help: 'After this it is killed, and all its processes with it' }),
  },
  ownFile: true,
  notes: [
    'Drain the node first where its pods are to move in order:',
    '  kubectl drain worker-1 --ignore-daemonsets && kubestage leave && kubectl delete node worker-1',
  ],
  async run({ values: { stateDir, kubeconfig, timeout } }) {
    const folder = new NodeFolder(stateDir)
    const joined = folder.joined()
    if (!joined) throw new ConfigError(`no node has joined from ${stateDir}: name its folder with --state-dir`)
    const isOrderly = await endKubelet(folder, timeout)
    checkMounts(folder)
    const { nodeName } = joined
    if (kubeconfig)
      await withClient({ stateDir, kubeconfig }, (client) =>
        client.delete(nodes, { name: nodeName }).catch(ignoring('NotFound')),
      )
    for (const entry of folder.entries) rmSync(entry, { recursive: true, force: true })
    removeIfEmpty(folder.root)
    process.stdout.write(`Node ${nodeName} has left${isOrderly ? '' : ': killed, it took too long to stop'}.\n`)
    if (!kubeconfig) process.stdout.write(`Its Node object still exists: kubectl delete node ${nodeName}\n`)
    return isOrderly ? 0 : 1
  },
})

/** Resolves to whether it ended in order. A shim outlives a kubelet that was killed, and holds its containers. */
async function endKubelet({ lock, kubelet }: NodeFolder, timeoutMs: number): Promise<boolean> {
  const holder = lockHolder(lock)
  const isOrderly = !holder || (await withProgress('Leaving: pods end first', endProcess(holder, timeoutMs)))
  const shim = Adopted.shim(kubelet, realClock)
  shim?.release()
  await shim?.endWithin(realClock, shimMs)
  return isOrderly
}

/** Refuses to remove what is mounted in the folder. */
function checkMounts({ root }: NodeFolder): void {
  const mountPoints = textOf('/proc/self/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  const place = mountPoints.find((point) => point.startsWith(`${root}/`))
  if (place === undefined) return
  throw new ConfigError(`${place} is still mounted, so nothing is removed: umount it, then leave again`)
}

/** A folder in which the user keeps something else stays. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code)) throw error
  }
}
