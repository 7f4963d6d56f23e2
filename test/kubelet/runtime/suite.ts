import path from 'node:path'
import t, { type Test } from 'tap'
import {
  type ContainerConfig,
  type ContainerRecord,
  type ContainerRuntime,
  type RuntimeEvent,
  type Sandbox,
  type SandboxConfig,
  StartError,
} from '../../../kubelet/runtime/container-runtime.ts'
import { until } from '../../harness/until.ts'
import { exited, recordOf, sandboxOf } from './runtime-node.ts'

/** What containers of the suite do, and commands beside them. */
export const programs = {
  /** Until TERM, which ends it with 143. */
  sleeps: ['sleep', '1000'],
  /** At once, with 3. */
  ends: ['sh', '-c', 'exit 3'],
  /** Prints `ready` when TERM no longer ends it. */
  ignoresTerm: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'],
  cannotStart: ['/no/such/program'],
}

export interface RuntimeOfSuite {
  runtime: ContainerRuntime
  /** A folder for logs. */
  rootDir: string
  /** The image of all containers, where it is more than a name. */
  image?: Pick<ContainerConfig, 'image' | 'imageId'>
  /** What sandboxes have beside what the suite says. */
  sandbox?: Partial<SandboxConfig>
  /** Resolves when a container that runs {@link programs.ignoresTerm} does so. */
  ignoresTerm(container: ContainerRecord): Promise<unknown>
}

class Stage {
  readonly runtime: ContainerRuntime
  readonly ignoresTerm: RuntimeOfSuite['ignoresTerm']
  readonly #rootDir: string
  readonly #image: RuntimeOfSuite['image']
  readonly #sandbox: RuntimeOfSuite['sandbox']

  constructor({ runtime, rootDir, image, sandbox, ignoresTerm }: RuntimeOfSuite) {
    this.runtime = runtime
    this.ignoresTerm = ignoresTerm
    this.#rootDir = rootDir
    this.#image = image
    this.#sandbox = sandbox
  }

  sandbox(podUid: string, hostNetwork = false): Promise<Sandbox> {
    return sandboxOf(this.runtime, podUid, hostNetwork, this.#sandbox)
  }

  start(sandbox: Pick<Sandbox, 'id' | 'podUid'>, command: string[], more: Partial<ContainerConfig> = {}) {
    const logPath = path.join(this.#rootDir, 'logs', sandbox.podUid, `${more.name ?? 'c'}.log`)
    const paths = { env: {}, path: [], logPath }
    const image = this.#image ?? { image: 'busybox', imageId: 'sha256:0' }
    const container = { name: 'c', attempt: 0, ...image, stdin: false, tty: false }
    const annotations = { note: 'of the container' }
    return this.runtime.startContainer({ sandboxId: sandbox.id, ...container, ...paths, command, annotations, ...more })
  }

  /** Stops a container; resolves to the signals that it was sent. */
  async stop(id: string, gracePeriodMs: number): Promise<string[]> {
    const signals: string[] = []
    const onSignal = (signal: string) => void signals.push(signal)
    await this.runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs, onSignal })
    return signals
  }

  /** All events from now on, as `type` and container id. */
  events(): string[] {
    const seen: string[] = []
    this.runtime.onEvent(({ type, containerId }: RuntimeEvent) => void seen.push(`${type} ${containerId}`))
    return seen
  }
}

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

/** What every runtime promises. `make` gives one without pods, which it closes when the test is over. */
export function runtimeSuite(name: string, make: (t: Test) => Promise<RuntimeOfSuite>): void {
  void t.test(`${name}: the suite of runtimes`, async (t) => {
    const stage = new Stage(await make(t))
    for (const [title, body] of Object.entries(promises)) await t.test(title, (t) => body(t, stage))
  })
}

/** One runtime serves all, each with pods of its own. */
const promises: Record<string, (t: Test, stage: Stage) => Promise<void>> = {
  async 'a sandbox is listed until it is removed'(t, stage) {
    const { runtime } = stage
    const sandbox = await stage.sandbox('listed')
    t.match(sandbox, { podUid: 'listed', state: 'ready', annotations: { note: 'kept' }, ip: /^[\d.]+$/ })
    const [found, ...more] = (await runtime.list('listed')).sandboxes
    t.match(found, sandbox)
    t.same(more, [])
    for (const _twice of [1, 2]) await runtime.stopSandbox(sandbox.id)
    t.match((await runtime.list('listed')).sandboxes, [{ id: sandbox.id, state: 'notReady' }])
    for (const _twice of [1, 2]) await runtime.removeSandbox(sandbox.id)
    t.same(await runtime.list('listed'), { sandboxes: [], containers: [] })
  },

  async 'what does not exist is stopped and removed already'(t, stage) {
    const { runtime } = stage
    await runtime.stopSandbox('none')
    await runtime.removeSandbox('none')
    t.same(await stage.stop('none', 0), [])
    await runtime.removeContainer('none')
    t.same(await runtime.list('none'), { sandboxes: [], containers: [] })
  },

  async 'a container runs until it is stopped, and is listed until it is removed'(t, stage) {
    const { runtime } = stage
    const events = stage.events()
    const sandbox = await stage.sandbox('stopped')
    const other = await stage.sandbox('other')
    const record = await stage.start(sandbox, programs.sleeps)
    const beside = await stage.start(other, programs.sleeps)
    t.match(record, { sandboxId: sandbox.id, podUid: 'stopped', name: 'c', state: 'running', id: /^[0-9a-f]{64}$/ })
    t.match((await runtime.list('stopped')).containers, [{ id: record.id, annotations: { note: 'of the container' } }])
    t.match(await runtime.usage('stopped'), [{ containerId: record.id, name: 'c', podUid: 'stopped' }])
    t.same(await stage.stop(record.id, 60_000), ['SIGTERM'])
    const ended = await recordOf(runtime, record.id)
    t.match(ended, { state: 'exited', exitCode: 143 })
    t.ok((ended.finishedAtMs ?? 0) >= ended.startedAtMs)
    t.same(await runtime.usage('stopped'), [], 'what has ended uses nothing')
    t.same(await stage.stop(record.id, 0), [], 'it is stopped already')
    await until(() => events.includes(`exited ${record.id}`), { what: 'the event of its end' })
    t.same(
      events.filter((event) => event.endsWith(record.id)),
      [`started ${record.id}`, `exited ${record.id}`],
    )
    t.equal((await recordOf(runtime, beside.id)).state, 'running', 'another pod goes on')
    for (const _twice of [1, 2]) await runtime.removeContainer(record.id)
    t.same((await runtime.list('stopped')).containers, [])
    await runtime.removeSandbox(other.id)
    t.same(await runtime.list('other'), { sandboxes: [], containers: [] }, 'containers go with their sandbox')
  },

  async 'a container that ignores TERM is killed after its grace period'(t, stage) {
    const record = await stage.start(await stage.sandbox('ignores'), programs.ignoresTerm)
    await stage.ignoresTerm(record)
    t.same(await stage.stop(record.id, 50), ['SIGTERM', 'SIGKILL'])
    t.match(await recordOf(stage.runtime, record.id), { state: 'exited', exitCode: 137 })
  },

  async 'of two calls that stop a container, one sends TERM, and the shorter grace period holds'(t, stage) {
    const record = await stage.start(await stage.sandbox('twice'), programs.ignoresTerm)
    await stage.ignoresTerm(record)
    const [long, short] = await Promise.all([stage.stop(record.id, 600_000), stage.stop(record.id, 50)])
    t.equal([...long, ...short].filter((signal) => signal === 'SIGTERM').length, 1)
    t.equal((await recordOf(stage.runtime, record.id)).exitCode, 137)
  },

  async 'a container that ends by itself keeps its exit code'(t, stage) {
    const events = stage.events()
    const { id } = await stage.start(await stage.sandbox('ends'), programs.ends)
    await exited(stage.runtime, id)
    t.match(await recordOf(stage.runtime, id), { state: 'exited', exitCode: 3 })
    await until(() => events.includes(`exited ${id}`), { what: 'the event of its end' })
  },

  async 'a program that cannot be executed is listed as exited with 128'(t, stage) {
    const sandbox = await stage.sandbox('cannot')
    t.ok((await refusalOf(stage.start(sandbox, programs.cannotStart))) instanceof StartError)
    const { containers } = await stage.runtime.list('cannot')
    t.match(containers, [{ state: 'exited', exitCode: 128, reason: 'StartError' }])
  },

  async 'a container needs its sandbox'(t, stage) {
    await t.rejects(stage.start({ id: 'none', podUid: 'none' }, programs.sleeps))
    t.same(await stage.runtime.list('none'), { sandboxes: [], containers: [] })
  },

  async 'a sandbox that is stopped ends its containers'(t, stage) {
    const sandbox = await stage.sandbox('whole')
    const started = [
      await stage.start(sandbox, programs.sleeps, { name: 'a' }),
      await stage.start(sandbox, programs.ignoresTerm, { name: 'b' }),
    ]
    await stage.runtime.stopSandbox(sandbox.id)
    for (const { id } of started) await exited(stage.runtime, id)
    for (const { id } of started) t.equal((await recordOf(stage.runtime, id)).exitCode, 137)
  },

  async 'a command beside a container ends, or runs out of time'(t, stage) {
    const { runtime } = stage
    const { id } = await stage.start(await stage.sandbox('exec'), programs.sleeps)
    t.match(await runtime.execSync(id, { command: programs.ends }), { outcome: 'exited', exitCode: 3 })
    t.match(await runtime.execSync(id, { command: programs.sleeps, timeoutMs: 50 }), { outcome: 'timeout' })
    const { exitCode, stdout } = await runtime.exec(id, { command: programs.ends, stdin: false, tty: false })
    stdout.resume()
    t.equal(await exitCode, 3)
    await stage.stop(id, 60_000)
    t.match(await runtime.execSync(id, { command: programs.ends }), { outcome: 'failed' })
    t.ok(
      (await refusalOf(runtime.exec(id, { command: programs.ends, stdin: false, tty: false }))) instanceof StartError,
    )
    t.ok((await refusalOf(runtime.attach(id))) instanceof StartError)
  },

  async 'who attaches sees the end'(t, stage) {
    const { id } = await stage.start(await stage.sandbox('attach'), programs.sleeps)
    const { stdout, exitCode } = await stage.runtime.attach(id)
    stdout.resume()
    await stage.stop(id, 60_000)
    t.equal(await exitCode, 143)
  },

  async 'a port that is closed cannot be forwarded'(t, stage) {
    const { id } = await stage.sandbox('ports')
    await t.rejects(stage.runtime.portForward(id, 9))
  },

  async 'a pod has an address of its own, or the address of the node'(t, stage) {
    const { runtime } = stage
    t.equal(await runtime.usePodAddresses('loopback'), undefined)
    const own = [await stage.sandbox('own-a'), await stage.sandbox('own-b')].map(({ ip }) => ip)
    t.equal(new Set([...own, '127.0.0.1']).size, 3)
    t.equal((await stage.sandbox('of-node', true)).ip, '127.0.0.1')
    t.equal(await runtime.usePodAddresses('host'), undefined)
    t.equal((await stage.sandbox('all-of-node')).ip, '127.0.0.1')
  },

  async 'a listener that has left is not called'(t, stage) {
    const events: string[] = []
    const leave = stage.runtime.onEvent(({ type }) => void events.push(type))
    leave()
    const { id } = await stage.start(await stage.sandbox('left'), programs.ends)
    await exited(stage.runtime, id)
    t.same(events, [])
  },

  async 'a reboot loses all sandboxes, and the boot has another id'(t, stage) {
    const { runtime } = stage
    const before = runtime.bootId()
    const sandbox = await stage.sandbox('boot')
    const { id } = await stage.start(sandbox, programs.sleeps)
    await runtime.reboot()
    t.ok(runtime.bootId())
    t.not(runtime.bootId(), before)
    await exited(runtime, id)
    const { sandboxes } = await runtime.list()
    t.same(
      sandboxes.filter(({ state }) => state === 'ready'),
      [],
    )
    const again = await stage.start(await stage.sandbox('boot'), programs.ends, { attempt: 1 })
    await exited(runtime, again.id)
    t.equal((await recordOf(runtime, again.id)).exitCode, 3, 'what begins after it runs')
  },
}
