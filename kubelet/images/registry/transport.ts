import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { requestError } from '../../../shared/client/call-errors.ts'
import { isLoopback } from '../../../shared/client/loopback.ts'
import { PullError } from './pull-error.ts'
import type { Proxies } from './settings.ts'

/** Limits how long a registry is waited for. */
export interface PullTimeouts {
  /** Limits the time until there is a connection, TLS included. */
  connectMs: number
  /** Limits the time from a request to the headers of its answer, and between two parts of an answer. */
  answerMs: number
  /** Limits the time until a manifest, a configuration or a token is complete. */
  documentMs: number
}

const usualTimeouts: PullTimeouts = { connectMs: 10_000, answerMs: 30_000, documentMs: 60_000 }

export interface Response {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Readable
}
export interface Request {
  method?: 'GET' | 'HEAD' | 'POST'
  headers?: Record<string, string>
  body?: string
  verifiesCertificate: boolean
  signal?: AbortSignal
}

/** Go follows as many. */
const mostRedirects = 10

/** No answer came, or none that can be read; `error` is what the system or the HTTP client said. */
export class NoAnswer extends PullError {
  readonly error: Error & { code?: string }

  constructor(message: string, error: Error) {
    super(message)
    this.error = error
  }
}

/** Sends requests to registries: through the proxies of this machine, and on to where they redirect. */
export class Transport {
  readonly timeouts: PullTimeouts
  readonly #proxies: Proxies
  readonly #agents = new Map<string, Dispatcher>()

  constructor(proxies: Proxies, timeouts: PullTimeouts = usualTimeouts) {
    this.#proxies = proxies
    this.timeouts = timeouts
  }

  async send(address: string, { headers = {}, ...options }: Request): Promise<Response> {
    const { method = 'GET' } = options
    const first = new URL(address)
    let url = first
    for (let redirects = 0; ; redirects += 1) {
      // A password is for the registry alone, not for where its files are.
      const { authorization, ...others } = headers
      const given = url.origin === first.origin && authorization ? { ...others, authorization } : others
      const response = await this.#send(url, { ...options, headers: given })
      const { location } = response.headers
      if (![301, 302, 303, 307, 308].includes(response.status) || typeof location !== 'string') return response
      discard(response)
      if (redirects === mostRedirects)
        throw new PullError(`${said(method, url)}: stopped after ${mostRedirects} redirects`)
      url = redirected(location, url, method)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  async #send(url: URL, { method = 'GET', headers, body, verifiesCertificate, signal }: Request): Promise<Response> {
    const { answerMs } = this.timeouts
    // Most kubelets pull nothing: it is loaded for the first request.
    const undici = await import('undici')
    try {
      const answer = await undici.request(url, {
        method,
        headers: { 'user-agent': 'kubestage', ...headers },
        body,
        signal,
        dispatcher: this.#agent(undici, url, verifiesCertificate),
        headersTimeout: answerMs,
        bodyTimeout: answerMs,
      })
      // It breaks when the connection does; its reader is told.
      answer.body.on('error', () => {})
      return { status: answer.statusCode, headers: answer.headers, body: answer.body }
    } catch (error) {
      throw new NoAnswer(`failed to do request: ${said(method, url)}: ${this.why(error as Error, url)}`, error as Error)
    }
  }

  /** Says, in Go's words where it has some, why there is no answer, or only the beginning of one. */
  why(error: Error & { code?: string }, { href, host }: URL): string {
    const { connectMs, answerMs, documentMs } = this.timeouts
    if (error.name === 'AbortError') return `its answer was not complete after ${documentMs / 1000} s`
    if (error.code === 'UND_ERR_CONNECT_TIMEOUT') return `no connection to ${host} within ${connectMs / 1000} s`
    if (error.code === 'UND_ERR_HEADERS_TIMEOUT') return `no answer within ${answerMs / 1000} s`
    if (error.code === 'UND_ERR_BODY_TIMEOUT') return `nothing more of the answer came for ${answerMs / 1000} s`
    return requestError(error, href)
  }

  #agent(undici: typeof import('undici'), { hostname }: URL, verifiesCertificate: boolean): Dispatcher {
    const { http, https, none } = this.#proxies
    const isDirect = isLoopback(hostname) || !(http || https)
    const id = `${isDirect} ${verifiesCertificate}`
    const known = this.#agents.get(id)
    if (known) return known
    const connect = { timeout: this.timeouts.connectMs, rejectUnauthorized: verifiesCertificate }
    const agent = isDirect
      ? new undici.Agent({ connect })
      : new undici.EnvHttpProxyAgent({
          connect,
          requestTls: connect,
          httpProxy: http,
          httpsProxy: https || http,
          noProxy: none,
        })
    this.#agents.set(id, agent)
    return agent
  }
}

/** Ends an answer whose content is not needed. */
export function discard({ body }: Response): void {
  body.destroy()
}

/** `Get "https://quay.io/v2/…"`, without what may be a signature. */
export const said = (method: string, { origin, pathname }: URL): string =>
  `${method[0]}${method.slice(1).toLowerCase()} "${origin}${pathname}"`

function redirected(location: string, from: URL, method: string): URL {
  try {
    const url = new URL(location, from)
    if (/^https?:$/.test(url.protocol)) return url
  } catch {
    // told below
  }
  throw new PullError(`${said(method, from)}: the registry redirects to ${JSON.stringify(location.slice(0, 200))}`)
}
