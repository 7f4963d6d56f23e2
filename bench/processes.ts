import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import type { DnsFigures } from './dns.ts'
import type { HookFigures } from './hooks.ts'
import { Http2Connection, type Target } from './http2-connection.ts'
import { builtPackage } from './package.ts'
import type { BareStart } from './starts/bare-start.ts'

/** An API server without what would write of its own accord. */
export const bareApi: readonly string[] = ['--kubelet=false', '--scheduler=false']

/** A server under load. */
export interface Server {
  target: Target
  /** From the start of its process until it answered. */
  readyMs: number
  rssMegabytes(): number
  /** CPU time that its processes, and those that they have started, have taken so far. */
  cpuMs(): number
  stop(): Promise<void>
}

export interface NodeServer extends Server {
  /** CPU time of the thread that serves, without V8's own threads, which collect garbage and compile in bursts. */
  mainThreadCpuMs(): number
}

/** A server with a file of a million objects has to read them, and may have to share the machine. */
const START_TIMEOUT_MS = 1_800_000

/** What `npm start` and the launcher of an older Node give to V8, too. `npx kubestage` does not, nor is it good for large clusters. */
const asNpmStart = ['--max-semi-space-size=8']

/** `kubestage up` of the package, in its own state directory. */
export async function startKubestage(options: {
  stateDir: string
  flags: string[]
  profileDir?: string
  /** Where V8's inspector listens. */
  inspectPort?: number
  /** With V8's own sizes. */
  asNpx?: boolean
  /** The folder of another package than the one that is built of these sources. */
  packageFolder?: string
  /** A program and its words that start the command. */
  before?: readonly string[]
}): Promise<NodeServer> {
  const { stateDir, flags, profileDir, inspectPort, asNpx, packageFolder = builtPackage(), before = [] } = options
  const program = join(packageFolder, 'bin/kubestage.mjs')
  const startedMs = realClock.monotonic()
  const profiling = profileDir ? ['--cpu-prof', '--cpu-prof-dir', profileDir] : []
  const inspecting = inspectPort ? [`--inspect=127.0.0.1:${inspectPort}`] : []
  const command = [
    ...profiling,
    ...inspecting,
    ...(asNpx ? [] : asNpmStart),
    program,
    'up',
    '--port',
    '0',
    '--state-dir',
    stateDir,
    ...flags,
  ]
  const [started = '', ...words] = [...before, process.execPath, ...command]
  const child = spawn(started, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', (chunk) => (printed += chunk))
  const exited = once(child, 'exit').then(() => Promise.reject(new Error(`kubestage did not start:\n${printed}`)))
  exited.catch(() => {})
  const target = await Promise.race([firstAnswer(join(stateDir, 'kubeconfig')), exited])
  return { target, readyMs: realClock.monotonic() - startedMs, ...handle([child], 'SIGINT') }
}

async function firstAnswer(kubeconfig: string): Promise<Target> {
  const deadlineMs = realClock.monotonic() + START_TIMEOUT_MS
  for (;;) {
    try {
      if (existsSync(kubeconfig)) return await ready(await targetOf(kubeconfig))
    } catch (error) {
      if (realClock.monotonic() > deadlineMs) throw error
    }
    await realClock.sleep(2)
  }
}

async function targetOf(kubeconfig: string): Promise<Target> {
  const { server, ca = '', cert = '', key = '' } = await loadKubeconfig(kubeconfig)
  const { hostname, port } = new URL(server)
  return { host: hostname, port: Number(port), ca, cert, key }
}

export async function ready(target: Target): Promise<Target> {
  const connection = await Http2Connection.open(target)
  const { beginning } = await connection.request({ method: 'GET', path: '/readyz' }).finally(() => connection.close())
  if (beginning !== 'ok') throw new Error(`not ready: ${beginning}`)
  return target
}

/**
 * The bare server that sets the ceiling, with the certificates of the server it is compared with, and objects like its.
 */
export async function startBareServer(options: { pkiDir: string; sampleFile: string; like: Target }): Promise<Server> {
  const { pkiDir, sampleFile, like } = options
  const startedMs = realClock.monotonic()
  const files = ['apiserver.crt', 'apiserver.key', 'ca.crt'].map((file) => join(pkiDir, file))
  const child = fork(join(import.meta.dirname, 'bare-server.ts'), [...files, sampleFile])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { target: { ...like, port }, readyMs: realClock.monotonic() - startedMs, ...handle([child], 'SIGTERM') }
}

/** A cluster of the library in a process of its own, with so many nodes that only pretend. */
export async function startSimulatedCluster(nodes: number): Promise<Server> {
  const startedMs = realClock.monotonic()
  const child = fork(join(import.meta.dirname, 'simulated-cluster.ts'), [builtPackage(), String(nodes)], {
    execArgv: asNpmStart,
  })
  const [target] = (await once(child, 'message')) as [Target]
  return { target, readyMs: realClock.monotonic() - startedMs, ...handle([child], 'SIGINT') }
}

/** Runs one of our programs, which tells one thing. */
export async function told<T>(program: string, args: string[] = []): Promise<T> {
  const child = fork(join(import.meta.dirname, program), args)
  const exited = once(child, 'exit')
  const message = once(child, 'message')
  await Promise.race([message, exited])
  if (child.exitCode) throw new Error(`${program} told nothing, and ended with ${child.exitCode}`)
  const [words] = (await message) as [T]
  await exited
  return words
}

/** Processes per second that a bare Node process starts. */
export const bareSpawn = async (count: number): Promise<number> =>
  (await told<{ perSecond: number }>('bare-spawn.ts', [String(count)])).perSecond

export const hookTimes = (): Promise<HookFigures> => told('hooks.ts')

/** Fastify in a fresh process, with certificates of this folder. */
export const bareStart = (pkiDir: string): Promise<BareStart> =>
  told(
    'starts/bare-start.ts',
    ['apiserver.crt', 'apiserver.key', 'ca.crt'].map((file) => join(pkiDir, file)),
  )

/** Starts a program that sees no nft. */
export function withoutNft(): string[] {
  const nft = spawnSync('which', ['nft'], { encoding: 'utf8' }).stdout.trim()
  return nft ? ['unshare', '--mount', 'sh', '-c', 'mount --bind /dev/null "$0" && exec "$@"', nft] : []
}

/** Returns what answers of DNS cost the kubelet. */
export const dnsCost = (): Promise<DnsFigures> => told('dns.ts')

/** The share of a core that five thousand probes take, and how many run in a second. */
export const probeCost = (): Promise<{ percent: number; perSecond: number }> => told('probes.ts')

/** The kubelet that a server has started, with its door into the network of its node where it has one. */
export function kubeletRss(stateDir: string): number {
  const isKubelet = (pid: string): boolean => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return words.includes(stateDir) && words.includes(join('kubelet', 'main.'))
    } catch {
      return false
    }
  }
  const pid = readdirSync('/proc').find((entry) => /^\d+$/.test(entry) && isKubelet(entry))
  if (pid === undefined) return Number.NaN
  return descent(Number(pid)).reduce((total, one) => total + rssMegabytes(one), 0)
}

/** `children` are one server. */
export function handle(
  children: readonly ChildProcess[],
  signal: NodeJS.Signals,
): Omit<NodeServer, 'target' | 'readyMs'> {
  const sum = (figure: (pid: number) => number): number =>
    children.reduce((total, { pid = 0 }) => total + figure(pid), 0)
  return {
    rssMegabytes: () => sum((pid) => descent(pid).reduce((total, one) => total + rssMegabytes(one), 0)),
    cpuMs: () => sum(cpuMs),
    mainThreadCpuMs: () => sum((pid) => threadNanoseconds(pid, pid) / 1e6),
    async stop() {
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const exited = once(child, 'exit')
        child.kill(signal)
        await exited
      }
    },
  }
}

/** By the scheduler's own count, in nanoseconds; /proc/PID/stat counts in hundredths of a second. */
function cpuMs(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((total, child) => total + cpuMs(Number(child)), processCpuMs(pid))
}

/** Of the process alone, by all its threads. */
export function processCpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((total, thread) => total + threadNanoseconds(pid, thread), 0) / 1e6
}

function threadNanoseconds(pid: number, thread: number | string): number {
  const [onCpu] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
  return Number(onCpu)
}

/** A process and those that it has started. */
function descent(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => descent(Number(child)))]
}

function rssMegabytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1000
}
