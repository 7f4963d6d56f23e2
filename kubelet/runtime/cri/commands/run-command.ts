import { grpcCodes } from '../../../../shared/grpc/status.ts'
import type { ExecOptions, ExecResult } from '../../container-runtime.ts'
import { OutputWindow } from '../../output-window.ts'
import { type CriClient, CriError } from '../api/client.ts'
import type { ContainerdExec } from './containerd-exec.ts'

export interface CommandPlaces {
  client: CriClient
  /** Runs commands with variables; absent where the runtime is not containerd. */
  withEnv?: ContainerdExec
}

const defaultOutputBytes = 10 * 1024
const exitKilled = 137
/** The runtime is asked to end a command at its time; what is later has no answer. */
const lateMs = 10_000

/** Runs a command beside a container to its end, as a hook or probe does. */
export async function runCommand(
  containerId: string,
  options: ExecOptions,
  { client, withEnv }: CommandPlaces,
): Promise<ExecResult> {
  const { command, env = {}, timeoutMs, signal, maxOutputBytes = defaultOutputBytes } = options
  try {
    if (withEnv && Object.keys(env).length > 0) {
      const ended = await withEnv.run({ containerId, command, env, timeoutMs, signal, maxOutputBytes })
      if ('exitCode' in ended) return { outcome: 'exited', ...ended }
      return signal?.aborted ? killed : { outcome: 'timeout', output: ended.output }
    }
    const timeout = timeoutMs === undefined ? 0 : Math.max(1, Math.ceil(timeoutMs / 1000))
    const limitMs = timeout === 0 ? undefined : timeout * 1000 + lateMs
    const request = { containerId, cmd: command, timeout }
    const { stdout, stderr, exitCode } = await client.call('execSync', request, { timeoutMs: limitMs, signal })
    const output = new OutputWindow(maxOutputBytes)
    for (const part of [stdout, stderr]) output.add(part)
    return { outcome: 'exited', exitCode, output: output.toString(), errors: stderr.toString() }
  } catch (error) {
    if (signal?.aborted) return killed
    if ((error as CriError).code === grpcCodes.deadlineExceeded && timeoutMs !== undefined)
      return { outcome: 'timeout', output: '' }
    const { message } = error instanceof CriError ? error : new CriError(codeOf(error), (error as Error).message)
    return { outcome: 'failed', message, output: '' }
  }
}

/** The container has ended, and its commands with it. */
const killed: ExecResult = { outcome: 'exited', exitCode: exitKilled, output: '' }

const codeOf = (error: unknown): number => {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' ? code : grpcCodes.unknown
}
