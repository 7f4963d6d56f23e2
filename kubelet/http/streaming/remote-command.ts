import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import type { ProcessStreams, TerminalSize } from '../../runtime/container-runtime.ts'
import { exitStatus, internalFailure, success } from './remote-status.ts'
import type { RemoteStreams } from './remote-streams.ts'

export interface RemoteCommand {
  verb: 'exec' | 'attach'
  tty: boolean
  /** Gets the first size of the client's terminal, if it is known. */
  start(size?: TerminalSize): Promise<ProcessStreams>
}

/** A client that has a terminal says its size at once; one that says none is not waited for any longer. */
const firstSizeMs = 100

const failures = { exec: 'error executing command in container', attach: 'error attaching to container' }

/** Joins a process and a client until the process has ended. A client that goes earlier leaves it running. */
export async function runRemoteCommand(
  { verb, tty, start }: RemoteCommand,
  streams: RemoteStreams,
  { machine }: Clock,
): Promise<void> {
  const { promise: firstSize, resolve: hasSize } = Promise.withResolvers<void>()
  let known: TerminalSize | undefined
  streams.onResize((size) => {
    known = size
    hasSize()
  })
  if (verb === 'exec' && tty) await withinLimit(firstSize, firstSizeMs, machine)
  const given = known
  let process: ProcessStreams
  try {
    process = await start(given)
  } catch (error) {
    streams.finish(internalFailure(`${failures[verb]}: ${(error as Error).message}`))
    return
  }
  const { stdin, stdout, stderr, resize, exitCode } = process
  stdin?.on('error', () => {})
  const letGo = (): void => {
    stdin?.end()
    stdout.destroy()
    stderr?.destroy()
  }
  if (streams.gone.aborted) letGo()
  else streams.gone.addEventListener('abort', letGo, { once: true })
  if (resize) streams.onResize(resize)
  if (known && known !== given) resize?.(known)
  if (stdin && streams.stdin) pipeline(streams.stdin, stdin).catch(() => {})
  await Promise.all([copy(stdout, streams.stdout), stderr && copy(stderr, streams.stderr)])
  const code = await exitCode.catch((error: Error) => error)
  // A container that goes on has seen the end of its first session; whether that is the end of its input, is its own
  // affair.
  stdin?.destroy()
  if (code instanceof Error) streams.finish(internalFailure(`${failures[verb]}: ${code.message}`))
  else streams.finish(verb === 'exec' ? exitStatus(code) : success)
}

/** Streams without a listener are discarded, also after the listener has gone. */
async function copy(source: Readable, sink: Writable | undefined): Promise<void> {
  if (!sink) source.resume()
  else await pipeline(source, sink).catch(() => {})
}
