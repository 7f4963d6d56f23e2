import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { EtcdClient } from '../../apiserver/storage/etcd/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { scratchFolder } from './scratch.ts'

export interface EtcdProgram {
  file: string
  version: string
}

/** What .ci/run builds: `server`, which is etcd, and `etcdutl`. */
export const builtPrograms = join(import.meta.dirname, '..', 'toolchains', 'bin')

/** Programs that are tested with: those of ETCD_BIN (several with colons between), the one on the PATH, the built one. */
export function etcdPrograms(): EtcdProgram[] {
  const files = [...(process.env.ETCD_BIN ?? '').split(':').filter(Boolean), 'etcd', join(builtPrograms, 'server')]
  const found = files.flatMap((file): EtcdProgram[] => {
    const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' })
    const version = /^etcd Version: (\S+)/.exec(stdout ?? '')?.[1]
    return version ? [{ file, version }] : []
  })
  return [...new Map(found.map((program) => [program.version, program])).values()]
}

export const noEtcd = 'no etcd on the PATH or in ETCD_BIN (Debian: apt-get install etcd-server)'

/** Why a version that Kubestage promises to work with is not tested with. */
export function missingEtcd(programs: readonly EtcdProgram[]): string[] {
  const sources = { '3.4.': 'Debian: apt-get install etcd-server', '3.6.': 'built by .ci/run in test/toolchains/bin' }
  const missing = Object.entries(sources).filter(
    ([start]) => !programs.some(({ version }) => version.startsWith(start)),
  )
  return missing.map(([start, source]) => `no etcd ${start}x on the PATH or in ETCD_BIN (${source})`)
}

export interface RunningEtcd {
  url: string
  /** Where it meets other members. */
  peer: string
  /** A client of its own, for what a test does behind the back of a server. */
  client: EtcdClient
  pid: number
  kill(signal: NodeJS.Signals): void
  /** Ends it; `start` starts it again with what it has stored. */
  stop(): Promise<void>
  start(): Promise<void>
}

interface StartOptions {
  args?: readonly string[]
  /** Of the client's URL. Default: http. */
  scheme?: 'http' | 'https'
  /** Takes the place of another, with nothing in it. */
  instead?: RunningEtcd
  /** Its folder, and where it meets other members. Default: new ones. */
  dataDir?: string
  peer?: string
  /** False: not until it answers, which the test's own client cannot see. */
  waits?: boolean
  /** For a client of an etcd with TLS. */
  tls?: { ca: string; cert: string; key: string }
}

/** An empty etcd of the test's own. */
export async function startEtcd(
  t: Pick<Test, 'teardown'>,
  { file }: EtcdProgram,
  options: StartOptions = {},
): Promise<RunningEtcd> {
  const {
    args = [],
    scheme = 'http',
    instead,
    dataDir = join(scratchFolder(t, 'etcd'), 'data'),
    waits = true,
    tls,
  } = options
  await instead?.stop()
  const port = instead ? new URL(instead.url).port : await freePort()
  const url = `${scheme}://127.0.0.1:${port}`
  const peer = options.peer ?? `http://127.0.0.1:${await freePort()}`
  const all = [
    ...['--data-dir', dataDir, '--listen-client-urls', url, '--advertise-client-urls', url],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
    ...['--heartbeat-interval', '50', '--election-timeout', '500', '--logger', 'zap', '--log-level', 'error', ...args],
  ]
  const client = new EtcdClient({ endpoints: [url], tls, clock: realClock })
  t.teardown(() => client.close())
  let child: ChildProcess
  const start = async (): Promise<void> => {
    child = spawn(file, all, { stdio: 'ignore', env: { PATH: process.env.PATH } })
    if (waits) await client.call('range', { key: 'a' }, { isRepeatable: true, timeoutMs: 20_000 })
  }
  const stop = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    child.once('exit', () => resolve())
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await promise
  }
  await start()
  t.teardown(stop)
  return { url, peer, client, pid: child!.pid!, kill: (signal) => void child.kill(signal), stop, start }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.address() as { port: number }
  server.close()
  return port
}
