import { Agent } from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { realClock } from '../../shared/clock/real-clock.ts'
import { httpsExchange } from '../harness/https-exchange.ts'
import type { Server } from './server.ts'

export interface Request {
  method: string
  path: string
  body?: object
  contentType?: string
}

/** `undefined` for a status: the connection was lost, and what was asked for may have happened. */
export interface Reply {
  call: number
  return: number
  status: number | undefined
  body: unknown
}

const requestTimeoutMs = 30_000

export const microseconds = (): number => Math.round(realClock.monotonic() * 1000)

/** A client with a kept connection to each server. */
export class HttpsClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 })

  /** Resolves to undefined when the server takes no connections: nothing was sent. */
  async send(
    server: Server,
    { method, path, body, contentType = 'application/json' }: Request,
  ): Promise<Reply | undefined> {
    const { ca, cert, key } = server.access
    const call = microseconds()
    const options = {
      ...urlToHttpOptions(new URL(server.url + path)),
      method,
      agent: this.#agent,
      ...{ ca, cert, key },
      headers: body ? { 'content-type': contentType } : {},
      signal: AbortSignal.timeout(requestTimeoutMs),
    }
    try {
      const { status, bytes } = await httpsExchange(options, body && JSON.stringify(body))
      return { call, return: microseconds(), status, body: parsed(bytes) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return undefined
      return { call, return: microseconds(), status: undefined, body: undefined }
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
