import { join, relative } from 'node:path'
import { styleText } from 'node:util'
import { configuredPlugins } from '../../apiserver/http/plugins/configured-plugins.ts'
import { type Cluster, runCluster } from '../../cluster/cluster.ts'
import { portOrFreeOne } from '../../cluster/free-port.ts'
import { guardian } from '../../cluster/guardian.ts'
import { nodeCount, nodeNames, rangeOf } from '../../cluster/node-names.ts'
import { packageRoot, version } from '../../cluster/package.ts'
import type { ClusterSettings } from '../../cluster/settings.ts'
import { stateDirectory, writingState } from '../../cluster/state-directory.ts'
import { tellStarter } from '../../cluster/supervisor/starter.ts'
import { checkOptions } from '../../kubelet/check-options.ts'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { limitsThatAreLow } from '../../shared/limits/low-limits.ts'
import { settle } from '../../shared/memory/settle.ts'
import { elsewhere } from '../access/cluster-access.ts'
import { imageOrigins } from '../access/image-source.ts'
import { Announcement, findRunning, lastRun } from '../access/running.ts'
import { command } from '../command.ts'
import { detached } from '../process/detach.ts'
import { untilStopped } from '../process/signals.ts'
import { type Output, printData } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { exportsFor } from './exports.ts'
import { untilGone } from './folder-gone.ts'
import { upOptions } from './up-options.ts'

export default command({
  purpose: 'Starts a cluster: API server and controllers in this process, a kubelet in another one for each node.',
  options: upOptions,
  first: ['config', 'stateDir', 'port', 'detach', 'storage', 'nodes', 'simulatedNodes', 'image', 'timeScale', 'ui'],
  notes: [
    'With -o json (or yaml) it says one thing only, when it is ready: an object with url, pid and kubeconfig.',
    'Each flag is also a variable (--port: KUBESTAGE_PORT) and a key of kubestage.yaml (port).',
  ],
  async run({ values: { detach, ui, uiActions, output, ...given }, origins, file }) {
    const values = { ...given, nodes: nodeCount(given, origins.nodes !== 'default') }
    checkOptions(values)
    nodeNames(values)
    if (!detach) reportLimits()
    checkNotRestarting(values.stateDir)
    await writingState(values.stateDir, () => checkNobodyElse(values.stateDir))
    const isOwnPort = origins.port !== 'default'
    const isOwnStorage = origins.storage !== 'default'
    if (detach) {
      const code = await startInBackground(values, { isOwnPort, isOwnStorage, output })
      if (code === 0) await sayPage(values.stateDir, { ui, uiActions })
      return code
    }
    const say = (text: string): void => void (output === 'text' && process.stdout.write(text))
    const plugins = await configuredPlugins({ values, origins, file }, realClock)
    const isKept = values.storage.engine !== 'memory' && guardian()
    const { port, ownPort } = await portsFor(values, { isOwnPort })
    const settings = { ...values, port }
    reportLastEnd(values.stateDir)
    let announcement: Announcement | undefined
    const onKubelet = (): void => announcement?.update()
    const options = { settings, ownPort, plugins, clock: realClock, onTrouble, onKubelet, guardian: guardian() }
    const starting = writingState(values.stateDir, () => runCluster({ ...options, simulatedApi: true }))
    const cluster = await withProgress('Starting', starting)
    announcement = await writingState(
      values.stateDir,
      () => new Announcement(cluster, values, { clock: realClock, imageOrigins: imageOrigins(origins) }),
    )
    if (isKept) isKept.tell('keep')
    // A caller may stop the cluster as soon as it is ready.
    const stopping = untilStopped()
    await tellStarter({ state: 'ready', url: cluster.url })
    const isElsewhere = !isOwnPort && settings.port !== values.port
    const seesKeys = await nodesThatSeeKeys(cluster)
    say(greeting(cluster, values, { isElsewhere, seesKeys, elapsedMs: realClock.monotonic() }))
    if (output !== 'text' && !guardian()?.restarts)
      await printData(output, {
        url: cluster.url,
        pid: guardian()?.pid ?? process.pid,
        kubeconfig: cluster.state.kubeconfig,
      })
    await sayPage(values.stateDir, { ui, uiActions })
    settle(realClock)
    const { again } = await Promise.race([stopping, withoutFolder(cluster, stopping)])
    if (isKept) isKept.tell('end')
    announcement.takeBack()
    say('\nStopping: pods end first. Ctrl-C again stops at once.\n')
    const stopped = withProgress('Stopping', cluster.stop()).then(() => {
      say('Stopped.\n')
      return 0
    })
    return await Promise.race([stopped, again.then(() => atOnce(cluster))])
  },
})

/** The output may be for a program. */
async function sayPage(stateDir: string, { ui, uiActions }: { ui: boolean; uiActions: boolean }): Promise<void> {
  if (!ui && !uiActions) return
  const { pageLink } = await import('../ui/index.ts')
  const link = await pageLink({ stateDir, kubeconfig: '' }, uiActions)
  process.stderr.write(`The page of this cluster; the link works once, within two minutes:\n  ${link}\n`)
}

/** Throws where a cluster has no API server now, but will have one again in a moment. */
function checkNotRestarting(stateDir: string): void {
  const { root, holder } = findRunning(stateDir)
  if (!root || holder || root.pid === guardian()?.pid) return
  throw new ConfigError(
    `already running with state folder ${stateDir} (process ${root.pid}), whose API server is about to start again; stop it with kubestage down, or choose another folder with --state-dir`,
  )
}

/**
 * Throws if the folder's kubeconfig belongs to a running cluster of another program: this one would replace the file.
 */
async function checkNobodyElse(stateDir: string): Promise<void> {
  const kubeconfig = elsewhere({ stateDir, kubeconfig: '' })
  if (kubeconfig === undefined) return
  const { askServer } = await import('../access/ask-server.ts')
  const answers = await askServer({ stateDir, kubeconfig }, { path: '/version' }).then(Boolean, () => false)
  const remedy = 'stop that, or choose another folder with --state-dir'
  if (answers) throw new ConfigError(`${kubeconfig} belongs to another running cluster: ${remedy}`)
}

/** A server that is started again has the ports of the one before, which clients know. */
async function portsFor(
  { stateDir, host, port }: ClusterSettings,
  { isOwnPort }: { isOwnPort: boolean },
): Promise<{ port: number; ownPort?: number }> {
  const before = guardian()?.restarts ? lastRun(stateDir) : undefined
  if (before) return { port: portOf(before.url), ownPort: before.ownUrl ? portOf(before.ownUrl) : undefined }
  return { port: isOwnPort ? port : await portOrFreeOne(host, port) }
}

const portOf = (url: string): number => Number(new URL(url).port)

/** A run that its own process did not end has left its description behind. */
function reportLastEnd(stateDir: string): void {
  const last = findRunning(stateDir).holder ? undefined : lastRun(stateDir)
  if (!last || guardian()?.restarts) return
  const kept = last.storage === 'memory' ? '; its objects were in memory and are gone' : ''
  onTrouble(`the last cluster here (process ${last.pid}, since ${last.startedAt}) was killed or crashed${kept}`)
}

async function startInBackground(
  { stateDir, port: usualPort, storage }: ClusterSettings,
  { isOwnPort, isOwnStorage, output }: { isOwnPort: boolean; isOwnStorage: boolean; output: Output },
): Promise<number> {
  const { root, kubeconfig } = stateDirectory(stateDir)
  const stays = isOwnStorage ? [] : [`--storage=sqlite:${join(root, 'state.db')}`]
  const flags = [...stays, '--ui=false', '--ui-actions=false', '--output=text']
  const isDurable = !isOwnStorage || storage.engine !== 'memory'
  const started = await detached('Starting', { command: 'up', stateDir, flags, isDurable })
  if (!started) return 130
  const { url, pid } = started
  if (output !== 'text') {
    await printData(output, { url, pid, kubeconfig })
    return 0
  }
  process.stdout.write(`Kubestage runs: ${url} (process ${pid}); kubestage down stops it.\n`)
  if (!isOwnPort && !url.endsWith(`:${usualPort}`))
    process.stdout.write(`Port ${usualPort} is in use by another program, so this is a free one; --port chooses.\n`)
  process.stdout.write(`\n  export KUBECONFIG=${shellWord(kubeconfig)}\n`)
  return 0
}

/** A Node that is refused a thread says nothing, whether it ends or waits. `up --detach` says it in its own words. */
function reportLimits(): void {
  const low = limitsThatAreLow()
  if (low && !guardian()?.restarts && !process.connected)
    onTrouble(`this shell allows only ${low}: programs of the cluster may end, or not start, without a word`)
}

/**
 * A cluster whose folder is removed ends: no command would find it any more. Then one signal is enough to end it at
 * once.
 */
async function withoutFolder({ state }: Cluster, stopping: Promise<unknown>): Promise<{ again: Promise<void> }> {
  await untilGone(state.lock)
  onTrouble(`the state folder ${shortest(state.root)} is gone, so this cluster ends`)
  return { again: stopping.then(() => {}) }
}

async function atOnce(cluster: Cluster): Promise<number> {
  await cluster.kill()
  return 130
}

function onTrouble(line: string): void {
  process.stderr.write(`${styleText('yellow', 'kubestage:', { stream: process.stderr })} ${line}\n`)
}

interface Circumstances {
  /** True if another program uses the usual port. */
  isElsewhere: boolean
  /** The nodes whose containers see all files of the machine. */
  seesKeys: readonly string[]
  /** Counts from the start of this process. */
  elapsedMs: number
}

async function nodesThatSeeKeys({ client, nodeNames: { real } }: Cluster): Promise<string[]> {
  if (real.length === 0) return []
  const { items } = await client.list<Node>(nodes, { labelSelector: 'kubestage.dev/files=host' })
  return items.map(({ metadata }) => metadata.name ?? '').filter((name) => real.includes(name))
}

function greeting(
  { url, ownUrl, state, nodeNames: { real, simulated }, otherServers }: Cluster,
  settings: ClusterSettings,
  { isElsewhere, seesKeys, elapsedMs }: Circumstances,
): string {
  const strong = (text: string): string => styleText('bold', text)
  const kinds = [
    [real, 'pods run as processes of this machine'],
    [simulated, 'pods are simulated'],
  ] as const
  const described = kinds.flatMap(([names, how]) => (names.length > 0 ? [`${rangeOf(names)}: ${how}`] : []))
  const none = settings.kubelet ? 'none (--nodes=0)' : 'none (--kubelet=false)'
  const keys =
    seesKeys.length > 0
      ? `  files       pods on ${rangeOf(seesKeys)} can read all files of this machine, the cluster's keys among them\n`
      : ''
  const others = otherServers()
  const own = [{ url: ownUrl }, ...others].map((server, index) => `${server.url} (context kubestage-${index + 1})`)
  const why = isElsewhere ? ` (port ${settings.port} is in use by another program)` : ''
  const example = shortest(join(packageRoot, 'examples', 'graceful-delete', 'pod.yaml'))
  const time = settings.timeScale === 1 ? '' : `  time        ${settings.timeScale} times as fast as this machine's\n`
  return `${strong(`Kubestage ${version} is ready`)} after ${(elapsedMs / 1000).toFixed(1)} s

  API server  ${[`${url}${why}`, ...(others.length > 0 ? own : [])].join('\n              ')}
  node        ${described.join('\n              ') || none}
${keys}${time}  kubeconfig  ${shortest(state.kubeconfig)}
  logs        ${shortest(state.logs)}/

Try, in another terminal:

  ${exportsFor(state.kubeconfig).join('\n  ')}
  kubectl apply -f ${shellWord(example)} && kubectl wait --for=condition=Ready pod/web
  kubectl logs -f web --all-containers &
  kubectl delete pod web --reason=Update

Ctrl-C ends everything.
`
}

function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') || process.cwd() === '/' ? path : fromHere
}
