import { StatusError } from '../api/status/status-error.ts'
import type { KeyPair } from '../pki/certificate.ts'
import type { Client, WatchQuery } from './client.ts'
import type { ServerClient } from './rest-client.ts'
import { StaleConnectionError } from './transport.ts'

/** Errors of a connection that was never made: nothing was sent. */
const unsent = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL'])
/** The server answers, and says that it is not able to. */
const failing = new Set([500, 502, 503, 504])

/**
 * Uses several API servers of a cluster. One server gets all requests until it fails, then the next. A read is retried
 * with each server; a write only if nothing was sent, because the server may have carried it out. A watch that ends is
 * restarted by its reflector.
 */
class SeveralServers implements ServerClient {
  readonly #clients: readonly ServerClient[]
  #current = 0

  constructor(clients: readonly ServerClient[]) {
    this.#clients = clients
  }

  get: Client['get'] = (...words) => this.#ask((client) => client.get(...words), { isRead: true }) as never
  list: Client['list'] = (...words) => this.#ask((client) => client.list(...words), { isRead: true }) as never
  create: Client['create'] = (...words) => this.#ask((client) => client.create(...words)) as never
  update: Client['update'] = (...words) => this.#ask((client) => client.update(...words)) as never
  patch: Client['patch'] = (...words) => this.#ask((client) => client.patch(...words)) as never
  delete: Client['delete'] = (...words) => this.#ask((client) => client.delete(...words))
  version: ServerClient['version'] = () => this.#ask((client) => client.version(), { isRead: true })
  document: ServerClient['document'] = (path) => this.#ask((client) => client.document(path), { isRead: true }) as never
  put: ServerClient['put'] = (path, object) => this.#ask((client) => client.put(path, object)) as never
  watch: Client['watch'] = (resource, query) => this.#watch(resource, query) as never

  useCertificate(pair: KeyPair): void {
    for (const client of this.#clients) client.useCertificate(pair)
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
  }

  async #ask<Answer>(
    call: (client: ServerClient) => Promise<Answer>,
    { isRead = false }: { isRead?: boolean } = {},
  ): Promise<Answer> {
    for (let tried = 1; ; tried++) {
      const index = this.#current
      try {
        return await call(this.#clients[index]!)
      } catch (error) {
        if (!isFailing(error)) throw error
        this.#leave(index)
        const mayAgain = isRead || wasNotSent(error)
        if (!mayAgain || tried >= this.#clients.length) throw error
      }
    }
  }

  async *#watch(...words: Parameters<Client['watch']>): AsyncGenerator<unknown> {
    const index = this.#current
    const { signal } = words[1] as WatchQuery
    try {
      yield* this.#clients[index]!.watch(...words)
    } catch (error) {
      if (!signal?.aborted && isFailing(error)) this.#leave(index)
      throw error
    }
  }

  /** Calls that fail together leave a server once. */
  #leave(index: number): void {
    if (this.#current === index) this.#current = (index + 1) % this.#clients.length
  }
}

const isFailing = (error: unknown): boolean => !(error instanceof StatusError) || failing.has(error.code)

function wasNotSent(error: unknown): boolean {
  if (error instanceof StaleConnectionError) return error.isUntouched
  return unsent.has((error as NodeJS.ErrnoException)?.code ?? '')
}

export const severalServers = (clients: readonly ServerClient[]): ServerClient =>
  clients.length === 1 ? clients[0]! : new SeveralServers(clients)
