import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Chunks } from '../../kubelet/images/chunks.ts'
import { ConfigError } from '../../shared/config/option.ts'

/** Kubernetes' own namespace first, then that of nerdctl and ctr. */
const namespaces = ['k8s.io', 'default']
const mostWords = 2_000
const mostListBytes = 8 * 2 ** 20

/** Reads images out of a containerd that runs on this machine, by its program `ctr`. */
export class ContainerdEngine {
  readonly #socket: string

  constructor(socket: string) {
    if (!existsSync(socket))
      throw new ConfigError(`no containerd runs: there is no ${socket}; start it, or set CONTAINERD_ADDRESS`)
    this.#socket = socket
  }

  async names(): Promise<string[]> {
    const all = new Set<string>()
    for (const namespace of namespaces)
      for (const name of await this.#namesIn(namespace)) if (!/^sha256:|@/.test(name)) all.add(name)
    return [...all]
  }

  /** Returns an OCI layout as an archive. Throws a ConfigError if no namespace has the image. */
  async save(name: string): Promise<Chunks> {
    for (const namespace of namespaces)
      if ((await this.#namesIn(namespace)).includes(name))
        return this.#output(['-n', namespace, 'images', 'export', '-', name])
    throw new ConfigError(`containerd has no image ${name} in its namespaces ${namespaces.join(' and ')}`)
  }

  async #namesIn(namespace: string): Promise<string[]> {
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of this.#output(['-n', namespace, 'images', 'ls', '-q'])) {
      bytes += part.length
      if (bytes > mostListBytes) throw new ConfigError(`ctr lists more than ${mostListBytes} bytes of images`)
      parts.push(part)
    }
    return Buffer.concat(parts).toString().split('\n').filter(Boolean)
  }

  /** Returns what `ctr` prints. It ends with its reader, and throws a ConfigError with its last words if it fails. */
  async *#output(args: readonly string[]): AsyncGenerator<Uint8Array> {
    const ctr = spawn('ctr', ['-a', this.#socket, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let words = ''
    ctr.stderr.on('data', (chunk: Buffer) => {
      words = `${words}${chunk}`.slice(-mostWords)
    })
    const ended = new Promise<string | undefined>((resolve) => {
      ctr.on('error', ({ code, message }: NodeJS.ErrnoException) =>
        resolve(code === 'ENOENT' ? 'ctr, which comes with containerd, is not on the PATH' : message),
      )
      ctr.on('close', (exitCode) => resolve(exitCode === 0 ? undefined : `ctr: ${words.trim().split('\n').at(-1)}`))
    })
    try {
      yield* ctr.stdout as AsyncIterable<Uint8Array>
      const failure = await ended
      if (failure !== undefined) throw new ConfigError(failure)
    } finally {
      ctr.kill('SIGKILL')
    }
  }
}
