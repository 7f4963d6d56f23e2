import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Gathered } from '../../../../shared/client/gathered.ts'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { SpdyClient } from '../../../../shared/spdy/client.ts'
import { type ProcessStreams, StartError, type TerminalSize } from '../../container-runtime.ts'
import { openSpdy } from './upgrade.ts'

/** The fourth version tells the exit code. */
const protocol = 'v4.channel.k8s.io'
const maxStatusBytes = 64 * 1024

export interface RemoteCommandOptions {
  url: string
  stdin: boolean
  tty: boolean
  size?: TerminalSize
  clock: Clock
}

/** Joins a command, or a container's own process, through the runtime's streaming server. */
export async function joinRemote({ url, stdin, tty, size, clock }: RemoteCommandOptions): Promise<ProcessStreams> {
  const client = new SpdyClient(await openSpdy(url, protocol, clock))
  try {
    const open = (streamtype: string) => client.open({ streamtype })
    const [status, input, stdout, stderr, sizes] = await Promise.all([
      open('error'),
      stdin ? open('stdin') : undefined,
      open('stdout'),
      tty ? undefined : open('stderr'),
      tty ? open('resize') : undefined,
    ])
    input?.resume()
    sizes?.resume()
    const resize = ({ width, height }: TerminalSize): void =>
      void sizes?.write(JSON.stringify({ Width: width, Height: height }))
    if (size) resize(size)
    const exitCode = exitCodeOf(status)
    const outputs = [stdout, ...(stderr ? [stderr] : [])]
    void Promise.allSettled([exitCode, ...outputs.map((output) => finished(output, { writable: false }))]).then(() =>
      client.close(),
    )
    return { ...(input && { stdin: input }), stdout, ...(stderr && { stderr }), ...(tty && { resize }), exitCode }
  } catch (error) {
    client.close()
    throw error
  }
}

interface Status {
  status?: string
  message?: string
  details?: { causes?: { reason?: string; message?: string }[] }
}

/** Reads the stream in which the server says how the command ended. */
async function exitCodeOf(stream: Readable): Promise<number> {
  const body = new Gathered('the status of a command', maxStatusBytes)
  for await (const part of stream) body.add(part as Buffer)
  if (body.length === 0) throw new Error('the container runtime has ended the stream')
  const { status, message = '', details } = parse(body.take().toString())
  if (status === 'Success') return 0
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (code !== undefined && /^\d+$/.test(code)) return Number(code)
  throw new StartError(
    message.replace(/^Internal error occurred: error (?:executing command in|attaching to) container: /, ''),
  )
}

function parse(text: string): Status {
  try {
    return (JSON.parse(text) ?? {}) as Status
  } catch {
    return { message: text }
  }
}
