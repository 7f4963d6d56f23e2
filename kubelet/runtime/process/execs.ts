import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import type { ExecOptions, ExecResult, ProcessStreams } from '../container-runtime.ts'
import { InputPipe } from './input-pipe.ts'
import { type Launch, launchScript } from './launch-script.ts'
import { OutputStream } from './output-stream.ts'
import { OutputWindow } from './output-window.ts'
import type { PipePool } from './pipe-pool.ts'
import { type PipeReader, readPipe } from './pipe-reader.ts'
import type { RecordStore } from './record-store.ts'
import type { ShimRequests } from './shim.ts'
import { isGroupAlive, sendSignal } from './signals.ts'
import { startOnTerminal } from './terminal.ts'

/** A command that could be started. */
export interface Startable {
  id: string
  launch: Launch
}

interface Exec {
  pid: number
  /** To be killed as soon as it is known what to kill. */
  killed: boolean
  input?: InputPipe
  ended: PromiseWithResolvers<number>
}
interface ListenedPipe {
  pipe: string
  reader: PipeReader
  stream: OutputStream
}

const exitKilled = 137
const closeTimeoutMs = 1_000
const defaultOutputBytes = 10 * 1024

/** The commands that run beside containers: hooks, exec probes, and those of people. They end with the kubelet that asked for them. */
export class Execs {
  readonly #store: RecordStore
  readonly #requests: ShimRequests
  readonly #pipes: PipePool
  readonly #clock: Clock
  readonly #execs = new Map<string, Exec>()

  constructor(options: { store: RecordStore; requests: ShimRequests; pipes: PipePool; clock: Clock }) {
    this.#store = options.store
    this.#requests = options.requests
    this.#pipes = options.pipes
    this.#clock = options.clock
  }

  /** Ends what an earlier kubelet was waiting for. */
  endFormer(): void {
    for (const id of this.#store.execs()) {
      const started = this.#store.started(id)
      const isRunning = started !== undefined && this.#store.isOfThisShim(started) && !this.#store.exited(id)
      if (isRunning) sendSignal(-started.pid, 'SIGKILL')
      this.#store.removeExec(id)
    }
  }

  /** Waits for its end. */
  async run({ id, launch }: Startable, options: ExecOptions): Promise<ExecResult> {
    options.signal?.throwIfAborted()
    const output = new OutputWindow(options.maxOutputBytes ?? defaultOutputBytes)
    const pipe = await this.#pipes.take()
    const reader = readPipe(pipe, (data) => output.add(data))
    const exec = this.#start(id, { ...launch, output: pipe })
    try {
      const exitCode = await this.#end(exec, options)
      reader.drain()
      return exitCode === 'timeout'
        ? { outcome: 'timeout', output: output.toString() }
        : { outcome: 'exited', exitCode, output: output.toString() }
    } finally {
      reader.close()
      this.#forget(id)
      this.#pipes.give(pipe)
    }
  }

  async onPipes({ id, launch }: Startable, { stdin }: { stdin: boolean }): Promise<ProcessStreams> {
    const outputs = await Promise.all([0, 1].map(() => this.#listen()))
    const [stdout, stderr] = outputs as [ListenedPipe, ListenedPipe]
    const input = stdin ? { pipe: this.#store.inputFile(id), made: false } : undefined
    const exec = this.#start(id, { ...launch, input, output: stdout.pipe, errors: stderr.pipe })
    const exitCode = exec.ended.promise.then((code) => {
      for (const { reader, stream, pipe } of outputs) {
        reader.drain()
        reader.close()
        stream.end()
        // What it left running may still print.
        if (!isGroupAlive(exec.pid)) this.#pipes.give(pipe)
      }
      exec.input?.destroy()
      this.#forget(id)
      return code
    })
    return { ...(exec.input && { stdin: exec.input }), stdout: stdout.stream, stderr: stderr.stream, exitCode }
  }

  async onTerminal({ id, launch }: Startable): Promise<ProcessStreams> {
    this.#store.saveLaunch('execs', id, launchScript(launch))
    const streams = await startOnTerminal(this.#store.launchFile('execs', id)).catch((error: unknown) => {
      this.#store.removeExec(id)
      throw error
    })
    void streams.exitCode.then(() => this.#store.removeExec(id))
    return streams
  }

  /** The pipe that it reads is there. */
  inputIsMade(id: string, file: string): void {
    this.#execs.get(id)?.input?.open(file)
  }

  /** The shim may have written something about it. */
  look(id: string): void {
    const exec = this.#execs.get(id)
    if (!exec) return
    if (exec.pid === 0) {
      exec.pid = this.#store.started(id)?.pid ?? 0
      if (exec.killed) killExec(exec)
    }
    const exited = this.#store.exited(id)
    if (exited) exec.ended.resolve(exited.code)
  }

  /** Ends them all. */
  async close(): Promise<void> {
    const execs = [...this.#execs.values()]
    for (const exec of execs) killExec(exec)
    await withinLimit(Promise.all(execs.map(({ ended }) => ended.promise)), closeTimeoutMs, this.#clock.machine)
    for (const exec of execs) exec.ended.resolve(exitKilled)
  }

  #start(id: string, launch: Launch): Exec {
    this.#store.saveLaunch('execs', id, launchScript(launch))
    const exec: Exec = { pid: 0, killed: false, ended: Promise.withResolvers<number>() }
    if (launch.input) exec.input = new InputPipe()
    this.#execs.set(id, exec)
    this.#requests.run('execs', id)
    return exec
  }

  #forget(id: string): void {
    this.#execs.delete(id)
    this.#store.removeExec(id)
  }

  async #listen(): Promise<ListenedPipe> {
    const pipe = await this.#pipes.take()
    const reader = readPipe(pipe, (data) => stream.add(data))
    const stream = new OutputStream(reader)
    return { pipe, reader, stream }
  }

  async #end(exec: Exec, { timeoutMs, signal }: ExecOptions): Promise<number | 'timeout'> {
    let timedOut = false
    const kill = () => killExec(exec)
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.machine.setTimer(timeoutMs, () => {
            timedOut = true
            kill()
          })
    if (signal?.aborted) kill()
    else signal?.addEventListener('abort', kill, { once: true })
    try {
      const code = await exec.ended.promise
      return timedOut ? 'timeout' : code
    } finally {
      timer?.cancel()
      signal?.removeEventListener('abort', kill)
    }
  }
}

function killExec(exec: Exec): void {
  exec.killed = true
  if (exec.pid !== 0) sendSignal(-exec.pid, 'SIGKILL')
}
