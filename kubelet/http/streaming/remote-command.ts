import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ProcessStreams } from '../../runtime/container-runtime.ts'
import { exitStatus, internalFailure, success } from './remote-status.ts'
import type { RemoteStreams } from './remote-streams.ts'

export interface RemoteCommand {
  verb: 'exec' | 'attach'
  start(): Promise<ProcessStreams>
}

const failures = { exec: 'error executing command in container', attach: 'error attaching to container' }

/** Joins a process and a client until the process has ended. A client that goes earlier leaves it running. */
export async function runRemoteCommand({ verb, start }: RemoteCommand, streams: RemoteStreams): Promise<void> {
  let process: ProcessStreams
  try {
    process = await start()
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
  if (stdin && streams.stdin) pipeline(streams.stdin, stdin).catch(() => {})
  await Promise.all([copy(stdout, streams.stdout), stderr && copy(stderr, streams.stderr)])
  const code = await exitCode
  // A container that goes on has seen the end of its first session; whether that is the end of its input, is its own
  // affair.
  stdin?.destroy()
  streams.finish(verb === 'exec' ? exitStatus(code) : success)
}

/** Streams without a listener are discarded, also after the listener has gone. */
async function copy(source: Readable, sink: Writable | undefined): Promise<void> {
  if (!sink) source.resume()
  else await pipeline(source, sink).catch(() => {})
}
