import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StatusError } from '../../shared/api/status/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { pods } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { cli, programOf, repository } from '../harness/cluster.ts'
import { podOf, politeScript } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { run } from '../harness/run.ts'
import { mountSmallDisk } from '../harness/small-disk.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const namespace = 'default'
/** For what takes up room, beside what the load lists. */
const storeroom = 'kube-public'
/** A busy machine starts slowly. */
const patienceMs = 300_000
/** A server that is stopped by a fault answers late; one that is gone does not. */
const requestTimeoutMs = 20_000

/** Of 900 kB each: more than the small disk holds. */
const maxRooms = 200

/** Undefined for a process that has ended. */
const parentOf = (pid: number): number | undefined => {
  try {
    // What follows the name, which may hold anything: the state, and the parent.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
  } catch {
    return undefined
  }
}

/** A cluster with objects in a file, on a disk of its own where we may mount one, and what may be done to it. */
export class Subject {
  /** Names of what takes up room on a full disk. */
  readonly #rooms: string[] = []
  /** Holds everything; removed by the caller. */
  readonly folder: string
  readonly stateDir: string
  /** Whether it has a disk of its own, which can be filled and made read-only. */
  readonly hasDisk: boolean
  kills = 0
  #up: ChildProcess | undefined
  #client: ServerClient | undefined
  #access: ClusterAccess | undefined

  readonly #servers: number

  /** `servers`: how many API servers share the file. */
  constructor(folder: string, { servers = 1 } = {}) {
    this.folder = folder
    this.#servers = servers
    const place = join(folder, 'disk')
    this.hasDisk = mountSmallDisk(place, 'size=96m')
    this.stateDir = join(place, 'state')
    mkdirSync(place, { recursive: true })
  }

  /** Since the start. */
  #serverEndsMs: number[] = []

  get storageFile(): string {
    return join(this.stateDir, 'state.db')
  }

  get client(): ServerClient {
    if (!this.#client) throw new Error('it does not run')
    return this.#client
  }

  get access(): ClusterAccess {
    if (!this.#access) throw new Error('it does not run')
    return this.#access
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'up.log'), 'a')
    const env = { ...process.env, NO_COLOR: '1' }
    const args = ['up', '--port=0', `--state-dir=${this.stateDir}`, `--storage=sqlite:${this.storageFile}`]
    if (this.#servers > 1) args.push(`--apiservers=${this.#servers}`)
    // With the pipe of a launcher, so that a run that is killed takes its cluster along.
    const up = spawn(process.execPath, [cli, ...args, '--shutdown-grace-period=2s'], {
      cwd: repository,
      env: { ...env, KUBESTAGE_LAUNCHER_FD: '3' },
      stdio: ['ignore', log, log, 'pipe'],
    })
    closeSync(log)
    this.#up = up
    this.#serverEndsMs = []
    await until(() => up.exitCode !== null || up.signalCode !== null || this.#isAnnouncedBy(up), {
      what: 'the cluster to start',
      timeoutMs: patienceMs,
    })
    if (up.exitCode !== null || up.signalCode !== null)
      throw new Error(`kubestage up ended (${up.exitCode ?? up.signalCode}):\n${this.log().slice(-2_000)}`)
    await this.#client?.close()
    this.#access = await loadKubeconfig(join(this.stateDir, 'kubeconfig'))
    this.#client = createRestClient({ ...this.#access, clock: realClock, requestTimeoutMs })
    await this.answers()
  }

  /** Resolves when the server answers. */
  async answers(): Promise<void> {
    await until(
      () =>
        this.client.list(pods, { namespace }).then(
          () => true,
          () => false,
        ),
      {
        what: 'an answer',
        timeoutMs: patienceMs,
      },
    )
  }

  /** In order, as a user does. Resolves to the exit code of `down`. */
  async stop(): Promise<number> {
    const { code } = await this.command('down')
    await this.ended()
    return code
  }

  /** As a test suite ends its child, or a closed pipe its reader: all of it by one kill. */
  async killAll(): Promise<void> {
    this.kills++
    this.#up?.kill('SIGKILL')
    await this.ended()
  }

  async ended(): Promise<void> {
    const up = this.#up
    await until(() => !up || up.exitCode !== null || up.signalCode !== null, { what: 'its end', timeoutMs: patienceMs })
    this.#up = undefined
  }

  /** Resolves to what the command printed. Also while the cluster does not run. */
  async command(name: string, ...flags: string[]): Promise<{ code: number; output: string }> {
    const args = [cli, name, `--state-dir=${this.stateDir}`, ...flags]
    const result = await run(process.execPath, args, { cwd: repository, env: { NO_COLOR: '1' }, timeoutMs: patienceMs })
    return result ?? { code: -1, output: 'no such program' }
  }

  /** The guardian ends the cluster after five ends of the API server in a row, each within a minute. */
  mayEndServer(): boolean {
    const recent = this.#serverEndsMs.filter((ms) => realClock.monotonic() - ms < 4 * 60_000)
    return recent.length < 4
  }

  signal(name: 'server' | 'kubelet' | 'shim', signal: NodeJS.Signals): number | undefined {
    const pid = this.pidOf(name)
    if (pid === undefined) return undefined
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') {
      this.kills++
      if (name === 'server') this.#serverEndsMs.push(realClock.monotonic())
    }
    process.kill(pid, signal)
    return pid
  }

  pidOf(name: 'server' | 'kubelet' | 'shim'): number | undefined {
    if (name === 'server') return this.#told()?.pid
    const file = name === 'kubelet' ? programOf('kubelet') : 'shim.pl'
    const found = processesWith(this.stateDir).filter((pid) => words(pid).includes(file))
    // The shim is its guard's child.
    return found.sort((a, b) => a - b).at(name === 'shim' ? -1 : 0)
  }

  /** Resolves when no process, and no mount but its own disk, is left of it. */
  async nothingRuns(): Promise<void> {
    const left = (): string[] => [
      ...processesWith(this.stateDir).map((pid) => `process ${pid}: ${words(pid)}`),
      ...this.#mounts(),
    ]
    await until(() => left().length === 0, { what: 'nothing to be left', timeoutMs: 60_000 }).catch(() => {
      throw new Error(`left behind: ${left().join(', ')}`)
    })
  }

  #mounts(): string[] {
    return readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((place) => place.startsWith(`${this.stateDir}/`))
  }

  async writeIsRefused(why: RegExp): Promise<boolean> {
    return await this.#probe().then(
      () => false,
      (error: Error) => why.test(error.message),
    )
  }

  /**
   * Writes until there is no room left in the file either: what was deleted has left pages that other writes take. A
   * delete on a full disk frees the history's pages, too.
   */
  async useUpRoom(why: RegExp): Promise<void> {
    for (let i = 0; i < maxRooms; i++) {
      const name = `room-${this.#rooms.length}`
      this.#rooms.push(name)
      const object = { metadata: { name }, data: { text: 'x'.repeat(900_000) } }
      const error = await this.client.create(configmaps, object, { namespace: storeroom }).then(
        () => undefined,
        (refusal: Error) => refusal,
      )
      if (error && why.test(error.message)) return
    }
  }

  async giveRoomBack(): Promise<void> {
    for (const name of this.#rooms.splice(0))
      await this.client.delete(configmaps, { namespace: storeroom, name }).catch(() => {})
  }

  async writeWorks(): Promise<boolean> {
    return await this.#probe().then(
      () => true,
      () => false,
    )
  }

  /** A write that no ledger knows. */
  async #probe(): Promise<void> {
    const name = 'probe'
    await this.client.delete(configmaps, { namespace, name }).catch(() => {})
    await this.client.create(configmaps, { metadata: { name }, data: { text: 'x'.repeat(50_000) } }, { namespace })
    await this.client.delete(configmaps, { namespace, name })
  }

  /** A pod that is to live through everything that does not end its node; resolves when it runs. */
  async startSteadyPod(name: string): Promise<void> {
    const command = ['sh', '-c', `: ${this.#mark(name)}; ${politeScript}`]
    await this.client.create(pods, podOf({ name, command, spec: { terminationGracePeriodSeconds: 2 } }), { namespace })
    await this.podRuns(name)
  }

  async podRuns(name: string): Promise<Pod> {
    return await until(
      async () => {
        const pod = await this.client.get<Pod>(pods, { namespace, name }).catch(() => undefined)
        const isReady = pod?.status?.containerStatuses?.[0]?.ready && pod.status.phase === 'Running'
        return isReady && this.processOf(name) !== undefined ? pod : undefined
      },
      { what: `pod ${name} to run`, timeoutMs: patienceMs },
    )
  }

  /** The pod's first process. */
  processOf(name: string): number | undefined {
    const found = processesWith(`${this.#mark(name)};`)
    // Its children look like it until they run programs of their own; numbers start again at the end of their range.
    return found.find((pid) => !found.includes(parentOf(pid) ?? pid))
  }

  /** Of this cluster's pod alone: others may be under siege on the same machine. */
  #mark(name: string): string {
    return `${basename(this.folder)}-${name}`
  }

  async removePod(name: string): Promise<void> {
    await this.client.delete(pods, { namespace, name })
    await until(
      () =>
        this.client.get(pods, { namespace, name }).then(
          () => false,
          () => true,
        ),
      {
        what: `pod ${name} to end`,
        timeoutMs: patienceMs,
      },
    )
  }

  /** Of pods that have ended. */
  podFolders(): string[] {
    const place = join(this.stateDir, 'kubelet', 'pods')
    return existsSync(place) ? readdirSync(place).map((name) => join(place, name)) : []
  }

  unmount(): void {
    if (this.hasDisk) execFileSync('umount', ['-l', join(this.folder, 'disk')])
  }

  /** All that the launcher, the guardian, the servers and their logs said. */
  log(): string {
    return readFileSync(join(this.folder, 'up.log'), 'utf8')
  }

  async close(): Promise<void> {
    await this.#client?.close()
    this.#up?.kill('SIGKILL')
  }

  #isAnnouncedBy(up: ChildProcess): boolean {
    const told = this.#told()
    return told !== undefined && (told.pid === up.pid || isAncestor(up.pid, told.pid))
  }

  #told(): { pid: number } | undefined {
    try {
      return JSON.parse(readFileSync(join(this.stateDir, 'running.json'), 'utf8'))
    } catch {
      return undefined
    }
  }
}

/** Whether it is known that nothing was written: the server itself refused, or none was there. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof StatusError
    ? !error.message.includes('it may have happened')
    : (error as { code?: string }).code === 'ECONNREFUSED'

function words(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

function isAncestor(elder: number | undefined, pid: number): boolean {
  for (let one = pid; one > 1; ) {
    if (one === elder) return true
    try {
      one = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0)
    } catch {
      return false
    }
  }
  return false
}
