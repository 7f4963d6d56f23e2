import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { cli, repository } from '../harness/cluster.ts'
import { killIfThere } from '../harness/processes.ts'
import type { TcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

export interface ServerOptions {
  name: string
  /** Its state folder is in there, and its log. */
  folder: string
  port: number
  /** Of `kubestage up`. */
  flags: readonly string[]
  /** Environment, beside that of the test. */
  variables?: Record<string, string>
  /** Between it and each member of etcd, in their order. */
  links?: readonly TcpProxy[]
}

const movedClock = pathToFileURL(join(import.meta.dirname, 'moved-clock.mjs')).href

/** An API server as the load and the faults see it. */
export type Server = Omit<ServerProcess, 'startIfOver'>

/** A busy machine starts slowly. */
export const startTimeoutMs = 120_000

/** An API server as a user starts it: `kubestage up` in processes of its own, at the same port after each start. */
export class ServerProcess {
  readonly name: string
  readonly stateDir: string
  readonly url: string
  readonly links: readonly TcpProxy[]
  readonly #options: ServerOptions
  #child: ChildProcess | undefined
  #starting: Promise<void> | undefined
  #access: ClusterAccess | undefined
  #log: string
  readonly #clockFile: string

  constructor(options: ServerOptions) {
    this.name = options.name
    this.stateDir = join(options.folder, options.name)
    this.#log = join(options.folder, `${options.name}.log`)
    this.#clockFile = join(options.folder, `${options.name}.clock`)
    this.url = `https://127.0.0.1:${options.port}`
    this.links = options.links ?? []
    this.#options = options
    mkdirSync(this.stateDir, { recursive: true })
  }

  /** The administrator's; known after the first start. */
  get access(): ClusterAccess {
    if (!this.#access) throw new Error(`${this.name} was never started`)
    return this.#access
  }

  /** Of the API server itself, below its guardian. */
  get pid(): number {
    return this.#running()?.pid ?? Number.NaN
  }

  /** Resolves when it is ready; rejects with its output when it ends before. */
  async start(): Promise<void> {
    const { port, flags, variables } = this.#options
    const log = openSync(this.#log, 'a')
    const args = [cli, 'up', `--port=${port}`, `--state-dir=${this.stateDir}`, ...flags]
    const { NODE_OPTIONS = '', ...others } = { ...process.env, ...variables }
    const options = `${NODE_OPTIONS} --import=${movedClock}`.trim()
    const env = { ...others, NO_COLOR: '1', NODE_OPTIONS: options, MOVED_CLOCK_FILE: this.#clockFile }
    const child = spawn(process.execPath, args, { cwd: repository, env, stdio: ['ignore', log, log] })
    closeSync(log)
    this.#child = child
    const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
    // What an earlier process has written there names another child.
    const isReady = (): boolean => [this.#running()?.pid, this.#running()?.guardian?.pid].includes(child.pid)
    await until(() => hasEnded() || isReady(), { what: `${this.name} to start`, timeoutMs: startTimeoutMs })
    if (hasEnded()) throw new Error(`${this.name} ended (${child.exitCode ?? child.signalCode}):\n${this.log()}`)
    this.#access ??= await loadKubeconfig(join(this.stateDir, 'kubeconfig'))
  }

  /** As a user does whose guardian has given up: it does after five short lives of the API server, if no other lives. */
  async startIfOver(): Promise<void> {
    const child = this.#child
    if (child?.exitCode === null && child.signalCode === null) return this.#starting
    this.#starting = this.start()
    await this.#starting
  }

  /** SIGKILL to the API server and to its guardian, which would start it again; resolves when both have ended. */
  async kill(): Promise<void> {
    const { pid } = this
    const child = this.#child
    if (!child) return
    child.kill('SIGKILL')
    if (!Number.isNaN(pid)) killIfThere(pid)
    const hasEnded = (): boolean => (child.exitCode !== null || child.signalCode !== null) && !isAlive(pid)
    await until(hasEnded, { what: `${this.name} to end` })
    this.#child = undefined
  }

  /** Of the API server's process, from now on; 0 puts it right. */
  moveClock(offsetMs: number): void {
    this.writeClock(offsetMs)
    this.signal('SIGUSR2')
  }

  /** What its processes read at a SIGUSR2. */
  writeClock(offsetMs: number): void {
    writeFileSync(this.#clockFile, String(offsetMs))
  }

  /** For SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal)
  }

  /** The end of what it printed. */
  log(): string {
    return readFileSync(this.#log, 'utf8').slice(-2_000)
  }

  #running(): { pid: number; guardian?: { pid: number } } | undefined {
    try {
      return JSON.parse(readFileSync(join(this.stateDir, 'running.json'), 'utf8'))
    } catch {
      return undefined
    }
  }
}

/** A killed process whose parent has not asked for its end is no more than a number. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
