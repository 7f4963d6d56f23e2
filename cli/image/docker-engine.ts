import type { IncomingMessage } from 'node:http'
import { type Chunks, readAll } from '../../kubelet/images/chunks.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { request } from '../../shared/http/node-http.ts'

/** Limits the time until an answer begins, and between two parts of it. */
const silenceMs = 60_000
const mostListBytes = 8 * 2 ** 20

/** Reads images out of a Docker, or a Podman, that runs on this machine: by its API on a Unix socket. */
export class DockerEngine {
  readonly #socket: string

  constructor(socket: string) {
    this.#socket = socket
  }

  async names(): Promise<string[]> {
    const text = (await readAll(await this.#get('/images/json'), mostListBytes, 'the list of images')).toString()
    try {
      const images = JSON.parse(text) as { RepoTags?: unknown }[]
      const names = images.flatMap(({ RepoTags: tags }) => (Array.isArray(tags) ? tags : []))
      return names.filter((name): name is string => typeof name === 'string' && !name.includes('<none>'))
    } catch {
      throw new ConfigError(`Docker at ${this.#socket} answers with no list of images`)
    }
  }

  /** Returns what `docker save` writes. Throws a ConfigError if there is no such image. */
  save(name: string): Promise<Chunks> {
    return this.#get(`/images/${encodeURIComponent(name)}/get`, `Docker has no image ${name}`)
  }

  async #get(path: string, ifMissing = `Docker at ${this.#socket} knows no ${path}`): Promise<Chunks> {
    const answer = Promise.withResolvers<IncomingMessage>()
    const sent = request({ socketPath: this.#socket, path, headers: { host: 'docker' } })
    const late = (): void => void sent.destroy(new Error(`nothing came for ${silenceMs / 1000} s`))
    const timer = realClock.setTimer(silenceMs, late)
    sent.on('response', answer.resolve).on('error', answer.reject).end()
    try {
      const response = await answer.promise
      if (response.statusCode === 200) return this.#parts(response, sent)
      sent.destroy()
      if (response.statusCode === 404) throw new ConfigError(ifMissing)
      throw new ConfigError(`Docker at ${this.#socket} answers ${response.statusCode} to GET ${path}`)
    } catch (error) {
      throw error instanceof ConfigError ? error : this.#unanswered(error as NodeJS.ErrnoException)
    } finally {
      timer.cancel()
    }
  }

  async *#parts(response: IncomingMessage, sent: ReturnType<typeof request>): AsyncGenerator<Uint8Array> {
    const parts = (response as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const late = (): void => void response.destroy(new Error(`nothing more came for ${silenceMs / 1000} s`))
        const timer = realClock.setTimer(silenceMs, late)
        const { value, done } = await parts.next().finally(() => timer.cancel())
        if (done) return
        yield value
      }
    } catch (error) {
      throw this.#unanswered(error as NodeJS.ErrnoException)
    } finally {
      sent.destroy()
    }
  }

  #unanswered({ code, message }: NodeJS.ErrnoException): ConfigError {
    if (code === 'ENOENT' || code === 'ECONNREFUSED')
      return new ConfigError(`no Docker runs: nothing answers at ${this.#socket}; start it, or set DOCKER_HOST`)
    if (code === 'EACCES')
      return new ConfigError(`this user may not use ${this.#socket}; ask as root, or join its group`)
    return new ConfigError(`Docker at ${this.#socket} broke off: ${message}`)
  }
}

/** Returns the socket that `DOCKER_HOST` names, or the usual one. Throws a ConfigError for another kind of address. */
export function dockerSocket(host: string): string {
  if (host === '') return '/var/run/docker.sock'
  if (host.startsWith('unix://')) return host.slice('unix://'.length)
  throw new ConfigError(`DOCKER_HOST is ${host}; images are imported from a unix:// socket alone`)
}
