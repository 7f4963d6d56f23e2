import type { ProcessStreams } from '../../container-runtime.ts'
import { openInput } from '../streams/input-pipe.ts'
import { OutputStream } from '../streams/output-stream.ts'
import { interrupt, throughTypist } from '../streams/typed-lines.ts'
import type { Container } from './container.ts'

/**
 * Streams of a container's own process; undefined when there is none that could say a word. `closeInput`: the shim's
 * end of what it reads.
 */
export function attachTo(container: Container, closeInput: () => void): ProcessStreams | undefined {
  if (!container.output || container.record.state === 'exited') return undefined
  const { reader, attached } = container.output
  const stdout = new OutputStream(reader)
  attached.add(stdout)
  stdout.on('close', () => attached.delete(stdout))
  const stdin = container.input === undefined ? undefined : openInput(container.input)
  const endInput = (): void => {
    container.input = undefined
    closeInput()
  }
  if (container.stored.stdinOnce) stdin?.on('close', endInput)
  const exitCode = container.exited.promise.then(() => {
    stdin?.destroy()
    return container.record.exitCode ?? 0
  })
  const streams: ProcessStreams = { ...(stdin && { stdin }), stdout, exitCode }
  if (!container.stored.tty) return streams
  return throughTypist(streams, {
    interrupt: () => interrupt(container.record.pid),
    endOfInput() {
      stdin?.end()
      endInput()
    },
  })
}
