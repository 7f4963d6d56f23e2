import { Writable } from 'node:stream'
import type { IPty } from '@lydell/node-pty'
import { type ProcessStreams, StartError } from '../../container-runtime.ts'
import { defaultPath } from '../../default-path.ts'
import { OutputStream } from './output-stream.ts'

const absent =
  'a terminal needs the optional package @lydell/node-pty, which is not installed on this node: try again without -t'

/**
 * Runs a program on a terminal of its own. The program is the kubelet's child and ends with the kubelet, as the
 * client's connection does.
 */
export async function startOnTerminal(program: { file: string; args: string[] }): Promise<ProcessStreams> {
  const terminal = await spawn(program)
  const stdout = new OutputStream({ pause: () => terminal.pause(), resume: () => terminal.resume() })
  const ended = Promise.withResolvers<number>()
  let isOver = false
  // Without an encoding it is bytes that come and go, whatever the types say.
  terminal.onData((data) => stdout.add(data as unknown as Buffer))
  terminal.onExit(({ exitCode, signal }) => {
    isOver = true
    stdout.end()
    ended.resolve(signal ? 128 + signal : exitCode)
  })
  stdout.on('close', () => {
    if (!isOver) terminal.kill('SIGHUP')
  })
  return {
    stdin: new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (!isOver) terminal.write(chunk as unknown as string)
        done()
      },
    }),
    stdout,
    resize({ width, height }) {
      if (!isOver && width > 0 && height > 0) terminal.resize(width, height)
    },
    exitCode: ended.promise,
  }
}

async function spawn({ file, args }: { file: string; args: string[] }): Promise<IPty> {
  const pty = await import('@lydell/node-pty').catch(() => {
    throw new StartError(absent)
  })
  return pty.spawn(file, args, { name: 'xterm', cwd: '/', env: { PATH: defaultPath }, encoding: null })
}
