import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../../shared/clock/clock.ts'
import type { GrpcCallOptions, GrpcChannel } from '../../../../shared/grpc/channel.ts'
import { Codec } from '../api/codec.ts'
import { OutputFile } from './output-file.ts'

/**
 * Lists the messages of containerd's own API, which it serves on the socket of the CRI. Upstream:
 * github.com/containerd/containerd/api services/containers/v1 and services/tasks/v1.
 */
const messages = {
  GetContainerRequest: { id: [1, 'string'] },
  GetContainerResponse: { container: [1, 'Container'] },
  Container: { id: [1, 'string'], spec: [5, 'Any'] },
  Any: { typeUrl: [1, 'string'], value: [2, 'bytes'] },
  ExecProcessRequest: {
    containerId: [1, 'string'],
    stdout: [3, 'string'],
    stderr: [4, 'string'],
    spec: [6, 'Any'],
    execId: [7, 'string'],
  },
  ProcessRef: { containerId: [1, 'string'], execId: [2, 'string'] },
  KillRequest: { containerId: [1, 'string'], execId: [2, 'string'], signal: [3, 'int'], all: [4, 'bool'] },
  WaitResponse: { exitStatus: [1, 'int'] },
  Empty: {},
} as const

/** The CRI's containers are in this namespace of containerd. */
const metadata = { 'containerd-namespace': 'k8s.io' }
const processType = 'types.containerd.io/opencontainers/runtime-spec/1/Process'
const sigkill = 9
const callTimeoutMs = 30_000

export interface ExecWithEnv {
  containerId: string
  command: string[]
  env: Record<string, string>
  timeoutMs?: number
  signal?: AbortSignal
  maxOutputBytes: number
}

type HowEnded = { exitCode: number } | { isLate: true }
type Limits = Pick<ExecWithEnv, 'timeoutMs' | 'signal'>
interface ProcessRef {
  containerId: string
  execId: string
}

/**
 * Runs commands beside containers of containerd with more variables than the container has: the CRI's ExecSync has no
 * field for them.
 */
export class ContainerdExec {
  readonly #channel: GrpcChannel
  readonly #codec = new Codec(messages)
  readonly #folder: string
  readonly #clock: Clock

  /** `folder`: the commands' output is there while they run; containerd writes to it. */
  constructor({ channel, folder, clock }: { channel: GrpcChannel; folder: string; clock: Clock }) {
    this.#channel = channel
    this.#folder = folder
    this.#clock = clock
  }

  /** Rejects with a GrpcError where the command cannot be started. */
  async run({
    containerId,
    command,
    env,
    timeoutMs,
    signal,
    maxOutputBytes,
  }: ExecWithEnv): Promise<HowEnded & { output: string }> {
    const { container } = await this.#call<{ container?: { spec?: { value: Buffer } } }>(
      'containers.v1.Containers/Get',
      ['GetContainerRequest', { id: containerId }],
      'GetContainerResponse',
    )
    const spec = processSpec(container?.spec?.value, command, env)
    const execId = randomBytes(16).toString('hex')
    const ref = { containerId, execId }
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const file = path.join(this.#folder, execId)
    const output = new OutputFile(file, { maxBytes: maxOutputBytes, clock: this.#clock })
    try {
      const url = `file://${encodeURI(file)}`
      const process = { typeUrl: processType, value: spec }
      await this.#tasks('Exec', ['ExecProcessRequest', { ...ref, spec: process, stdout: url, stderr: url }])
      const ended = await this.#runStarted(ref, { timeoutMs, signal })
      return { ...ended, output: output.end() }
    } finally {
      output.end()
    }
  }

  async #runStarted(ref: ProcessRef, options: Limits): Promise<HowEnded> {
    try {
      await this.#tasks('Start', ['ProcessRef', ref])
      return await this.#wait(ref, options)
    } finally {
      // Its output is whole then.
      await this.#tasks('DeleteProcess', ['ProcessRef', ref]).catch(() => {})
    }
  }

  async #wait(ref: ProcessRef, options: Limits): Promise<HowEnded> {
    const wait = (limits: GrpcCallOptions) =>
      this.#call<{ exitStatus: number }>('tasks.v1.Tasks/Wait', ['ProcessRef', ref], 'WaitResponse', limits)
    try {
      const { exitStatus } = await wait(options)
      return { exitCode: exitStatus }
    } catch (error) {
      if (options.timeoutMs === undefined && !options.signal?.aborted) throw error
      await this.#tasks('Kill', ['KillRequest', { ...ref, signal: sigkill, all: true }]).catch(() => {})
      await wait({ timeoutMs: callTimeoutMs }).catch(() => {})
      return { isLate: true }
    }
  }

  async #tasks(name: string, request: readonly [message: string, fields: object]): Promise<void> {
    await this.#call(`tasks.v1.Tasks/${name}`, request, 'Empty')
  }

  async #call<Answer>(
    name: string,
    [message, fields]: readonly [message: string, fields: object],
    answer: string,
    options: GrpcCallOptions = { timeoutMs: callTimeoutMs },
  ): Promise<Answer> {
    const bytes = await this.#channel.unary(`/containerd.services.${name}`, this.#codec.encode(message, fields), {
      ...options,
      metadata,
    })
    return this.#codec.decode(answer, bytes) as Answer
  }
}

/** The container's own process, with another command and more variables. */
function processSpec(spec: Buffer | undefined, args: string[], env: Record<string, string>): Buffer {
  const { process: own } = JSON.parse(spec?.toString() ?? '{}') as { process?: { env?: string[] } }
  if (!own) throw new Error('containerd does not tell how the process of the container was made')
  const more = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const others = (own.env ?? []).filter((entry) => !Object.hasOwn(env, entry.split('=', 1)[0] ?? ''))
  return Buffer.from(JSON.stringify({ ...own, args, terminal: false, env: [...others, ...more] }))
}
