import type { ProcessStreams } from '../../container-runtime.ts'
import type { ShimConnection } from '../shim/connection.ts'
import { openInput } from '../streams/input-pipe.ts'
import { OutputStream } from '../streams/output-stream.ts'
import type { Container } from './container.ts'

/**
 * Returns the streams of a container's own process; undefined if there is none that could print anything. The input of
 * a terminal does not end with its first session, as with containerd, not even with `stdinOnce`.
 */
export function attachTo(
  container: Container,
  shim: Pick<ShimConnection, 'closeInput' | 'resize'>,
): ProcessStreams | undefined {
  if (!container.output || container.record.state === 'exited') return undefined
  const { id, stdinOnce, tty } = container.stored
  const { reader, attached } = container.output
  const stdout = new OutputStream(reader)
  attached.add(stdout)
  stdout.on('close', () => attached.delete(stdout))
  const stdin = container.input === undefined ? undefined : openInput(container.input)
  if (stdinOnce && !tty)
    stdin?.on('close', () => {
      container.input = undefined
      shim.closeInput(id)
    })
  const exitCode = container.exited.promise.then(() => {
    stdin?.destroy()
    return container.record.exitCode ?? 0
  })
  return { ...(stdin && { stdin }), stdout, exitCode, ...(tty && { resize: (size) => shim.resize(id, size) }) }
}
