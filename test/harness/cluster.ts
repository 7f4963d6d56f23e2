import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { Test } from 'tap'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { type ClusterAccess, createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { scratchFolder } from './scratch.ts'
import { isFileOfRun, serversOfRun } from './stores-of-run.ts'
import { until } from './until.ts'

export const repository = join(import.meta.dirname, '..', '..')
/** The folder of the package that tests start: these sources, unless KUBESTAGE_PACKAGE names what was built of them. */
const built = process.env.KUBESTAGE_PACKAGE
export const cli = join(built ?? repository, 'bin', 'kubestage.mjs')
/** The file that a process of the cluster runs, as its command line has it. */
export const programOf = (name: 'apiserver' | 'kubelet'): string =>
  built ? join(built, 'dist', name, 'main.js') : join(repository, name, 'main.ts')

/** What ends the processes that were started for it. */
type Ending = Pick<Test, 'teardown'>

/** A cluster as a user starts it: the real command, its own state folder, a free port. */
export interface TestCluster {
  stateDir: string
  kubeconfig: string
  /** The same as JSON, which the recordings' tools read. */
  kubeconfigJson: string
  access: ClusterAccess
  /** As an administrator, over the network. */
  client: Client
  process: CommandRun
}

export async function startTestCluster(t: Ending, ...flags: string[]): Promise<TestCluster> {
  // Not t.testdir(), which is removed before what runs in it is ended.
  const stateDir = scratchFolder(t, 'test')
  const command = startCommand(t, ['up', '--port=0', `--state-dir=${stateDir}`, ...storeOf(stateDir), ...flags])
  await command.printed('is ready')
  const kubeconfig = join(stateDir, 'kubeconfig')
  askLastServer(kubeconfig)
  const kubeconfigJson = join(stateDir, 'kubeconfig.json')
  writeFileSync(kubeconfigJson, JSON.stringify(currentContext(load(readFileSync(kubeconfig, 'utf8')) as Kubeconfig)))
  const access = await loadKubeconfig(kubeconfig)
  const client = createRestClient({ ...access, clock: realClock })
  t.teardown(async () => {
    await client.close()
    await command.stop()
  })
  return { stateDir, kubeconfig, kubeconfigJson, access, client, process: command }
}

interface Kubeconfig {
  'current-context': string
  contexts: { name: string; context: { cluster: string; user: string } }[]
  clusters: { name: string }[]
  users: { name: string }[]
}

/** The recordings' tools take the only cluster and user that there are, as of `kubectl config view --minify`. */
function currentContext(config: Kubeconfig): Kubeconfig {
  const contexts = config.contexts.filter(({ name }) => name === config['current-context'])
  const { cluster, user } = contexts[0]!.context
  return {
    ...config,
    contexts,
    clusters: config.clusters.filter(({ name }) => name === cluster),
    users: config.users.filter(({ name }) => name === user),
  }
}

const storeOf = (stateDir: string): string[] =>
  isFileOfRun() ? [`--storage=sqlite:${join(stateDir, 'state.db')}`] : []

/** The command itself takes `KUBESTAGE_APISERVERS`. */
function askLastServer(kubeconfig: string): void {
  const count = serversOfRun()
  if (count === 1) return
  const text = readFileSync(kubeconfig, 'utf8')
  writeFileSync(kubeconfig, text.replace(/^current-context: .*$/m, `current-context: kubestage-${count}`))
}

/** Of its first node, as `running.json` says. */
export const kubeletPid = ({ stateDir }: Pick<TestCluster, 'stateDir'>): number =>
  JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8')).kubeletPid

export interface CommandRun {
  child: ChildProcess
  output(): string
  /** Without what it printed to stderr. */
  stdout(): string
  /** Resolves when the output holds the text; rejects with the output when the command ends before. */
  printed(text: string, timeoutMs?: number): Promise<void>
  /** Resolves to the exit code, or the signal's name. */
  ended: Promise<number | NodeJS.Signals>
  /** In order; resolves when it has ended. */
  stop(): Promise<void>
}

interface CommandOptions {
  /** Default: ours. */
  node?: string
  cwd?: string
  /** Beside ours. */
  variables?: Record<string, string>
}

/** Runs `kubestage …`; a test that ends takes it along. */
export const startCommand = (t: Ending, args: string[], options?: CommandOptions): CommandRun =>
  startProgram(t, [cli, ...args], options)

/** Runs a file with Node, and arguments. */
export function startProgram(
  t: Ending,
  args: string[],
  { node = process.execPath, cwd = repository, variables = {} }: CommandOptions = {},
): CommandRun {
  // The pipe is the one of the launcher (bin/kubestage.mjs): a test that is killed takes its clusters along.
  const env = { ...process.env, NO_COLOR: '1', ...variables, KUBESTAGE_LAUNCHER_FD: '3' }
  const child = spawn(node, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  let text = ''
  let stdout = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (stream === child.stdout) stdout += chunk
    })
  }
  let isOver = false
  const ended = once(child, 'close').then(([code, signal]) => {
    isOver = true
    return code ?? signal
  })
  const stop = async (): Promise<void> => {
    if (!isOver) child.kill('SIGTERM')
    await ended
  }
  t.teardown(stop)
  return {
    child,
    output: () => text,
    stdout: () => stdout,
    ended,
    stop,
    async printed(wanted, timeoutMs) {
      await until(() => text.includes(wanted) || isOver, { what: `"${wanted}" in:\n${text}`, timeoutMs })
      if (!text.includes(wanted)) throw new Error(`ended without printing "${wanted}":\n${text}`)
    },
  }
}
