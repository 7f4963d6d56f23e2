import type { Clock } from '../../../../shared/clock/clock.ts'
import { withinLimit } from '../../../../shared/clock/within-limit.ts'
import {
  type ExecOptions,
  type ExecResult,
  type ProcessStreams,
  StartError,
  type StreamedExecOptions,
} from '../../container-runtime.ts'
import { OutputWindow } from '../../output-window.ts'
import { sendSignal } from '../../signals.ts'
import { type Launch, shimLaunch } from '../launch/launch.ts'
import { newId } from '../new-id.ts'
import { execFailure } from '../runtime-errors.ts'
import type { ShimConnection, ShimRun, StartedProcess } from '../shim/connection.ts'
import { openInput } from '../streams/input-pipe.ts'
import { OutputStream } from '../streams/output-stream.ts'
import { readPipe } from '../streams/pipe-reader.ts'

export type CommandLaunch = Launch & { containerId: string }

interface Exec {
  pid: number
  started: PromiseWithResolvers<StartedProcess>
  /** Resolves with the exit code; undefined if the command could not be started. */
  ended: PromiseWithResolvers<number | undefined>
}

/** Says that the command was killed before the shim had started it. */
class KilledBefore extends StartError {}

const exitKilled = 137
const closeTimeoutMs = 1_000
const defaultOutputBytes = 10 * 1024

/**
 * The commands that run beside containers: hooks, exec probes, and those of people. They end with the kubelet that
 * asked for them.
 */
export class Execs {
  readonly #shim: () => ShimConnection
  readonly #clock: Clock
  readonly #execs = new Map<string, Exec>()

  constructor({ shim, clock }: { shim: () => ShimConnection; clock: Clock }) {
    this.#shim = shim
    this.#clock = clock
  }

  /** Waits for its end. */
  async run(launch: CommandLaunch, options: ExecOptions): Promise<ExecResult> {
    options.signal?.throwIfAborted()
    const { separateErrors = false, maxOutputBytes = defaultOutputBytes } = options
    const [output, errors] = [new OutputWindow(maxOutputBytes), new OutputWindow(maxOutputBytes)]
    const { id, exec } = this.#start(launch, { hasInput: false, separateErrors })
    const release = this.#limit(id, exec, options)
    try {
      const process = await exec.started.promise
      const readers = [readPipe(process.output, (data) => output.add(data))]
      if (process.errors !== undefined) readers.push(readPipe(process.errors, (data) => errors.add(data)))
      const exitCode = (await exec.ended.promise) ?? exitKilled
      for (const reader of readers) {
        reader.drain()
        reader.close()
      }
      const both = `${output}${errors}`
      if (release()) return { outcome: 'timeout', output: both }
      return { outcome: 'exited', exitCode, output: both, ...(separateErrors && { errors: `${errors}` }) }
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      if (release()) return { outcome: 'timeout', output: '' }
      if (error instanceof KilledBefore) return { outcome: 'exited', exitCode: exitKilled, output: '' }
      const message = `rpc error: code = Unknown desc = ${error.message}`
      return { outcome: 'failed', message, output: '' }
    } finally {
      release()
      this.#forget(id)
    }
  }

  /** A client that leaves has the terminal of its command hung up; a command without one goes on. */
  async withStreams(
    launch: CommandLaunch,
    { stdin, tty }: Pick<StreamedExecOptions, 'stdin' | 'tty'>,
  ): Promise<ProcessStreams> {
    const { id, exec } = this.#start(launch, { hasInput: stdin, separateErrors: !tty, onTerminal: tty })
    const { pid, output, errors, input } = await exec.started.promise.catch((error: unknown) => {
      this.#forget(id)
      throw error
    })
    const stdout = listenTo(output)
    const stderr = errors === undefined ? undefined : listenTo(errors)
    const writer = input === undefined ? undefined : openInput(input)
    if (!tty) writer?.on('close', () => this.#shim().closeInput(id))
    else stdout.stream.on('close', () => this.#execs.has(id) && sendSignal(-pid, 'SIGHUP'))
    const exitCode = exec.ended.promise.then((code) => {
      for (const { reader, stream } of [stdout, ...(stderr ? [stderr] : [])]) {
        reader.drain()
        reader.close()
        stream.end()
      }
      writer?.destroy()
      this.#forget(id)
      return code ?? exitKilled
    })
    return {
      ...(writer && { stdin: writer }),
      stdout: stdout.stream,
      ...(stderr && { stderr: stderr.stream }),
      ...(tty && { resize: (size) => this.#shim().resize(id, size) }),
      exitCode,
    }
  }

  hasStarted(id: string, process: StartedProcess): void {
    const exec = this.#execs.get(id)
    if (!exec) return
    exec.pid = process.pid
    exec.started.resolve(process)
  }

  hasFailed(id: string, why: string): void {
    const exec = this.#execs.get(id)
    exec?.started.reject(new StartError(execFailure(id, why)))
    exec?.ended.resolve(undefined)
  }

  hasExited(id: string, code: number): void {
    this.#execs.get(id)?.ended.resolve(code)
  }

  /** The shim has ended, and they with it. */
  areLost(): void {
    for (const [id, exec] of this.#execs) {
      exec.started.reject(new StartError(execFailure(id, 'the shim has ended')))
      exec.ended.resolve(exitKilled)
    }
  }

  /** Ends them all. */
  async close(): Promise<void> {
    const execs = [...this.#execs]
    for (const [id, exec] of execs) this.#kill(id, exec)
    await withinLimit(Promise.all(execs.map(([, { ended }]) => ended.promise)), closeTimeoutMs, this.#clock.machine)
    this.areLost()
  }

  #start(
    launch: CommandLaunch,
    streams: Pick<ShimRun, 'hasInput' | 'separateErrors' | 'onTerminal'>,
  ): { id: string; exec: Exec } {
    const id = newId()
    const exec: Exec = {
      pid: 0,
      started: Promise.withResolvers<StartedProcess>(),
      ended: Promise.withResolvers<number | undefined>(),
    }
    this.#execs.set(id, exec)
    this.#shim().run({ id, containerId: launch.containerId, ...streams, ...shimLaunch(launch) })
    return { id, exec }
  }

  /**
   * Kills a command. It does not wait for a command that the shim has not started: the shim kills that command if it
   * starts it later.
   */
  #kill(id: string, exec: Exec): void {
    if (exec.pid !== 0) sendSignal(-exec.pid, 'SIGKILL')
    else {
      this.#shim().forget(id)
      exec.started.reject(new KilledBefore(execFailure(id, 'it was killed before it had started')))
      exec.ended.resolve(exitKilled)
    }
  }

  #forget(id: string): void {
    this.#execs.delete(id)
    this.#shim().forget(id)
  }

  /** Kills it in time, or when its caller wants. Returns what ends that, and says whether it was too late. */
  #limit(id: string, exec: Exec, { timeoutMs, signal }: ExecOptions): () => boolean {
    let isLate = false
    const onAbort = () => this.#kill(id, exec)
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.machine.setTimer(timeoutMs, () => {
            isLate = true
            this.#kill(id, exec)
          })
    signal?.addEventListener('abort', onAbort, { once: true })
    return () => {
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      return isLate
    }
  }
}

function listenTo(pipe: string) {
  const reader = readPipe(pipe, (data) => stream.add(data))
  const stream = new OutputStream(reader)
  return { reader, stream }
}
