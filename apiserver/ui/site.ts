import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { StatusError } from '../../shared/api/status-error.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Asset, uiAssets } from './assets.ts'
import { cookies, refusal } from './guard.ts'
import { indexPage, sentencePage } from './pages.ts'
import { linkMs, type Redeemed, Sessions } from './sessions.ts'

const root = '/kubestage/ui/'
const cookiePrefix = 'kubestage-ui-'

export interface SiteOptions {
  /** The machine's. */
  clock: Clock
  /** Whether it is served over TLS. */
  isSecure: boolean
  /** Whether clients reach this server by the name. */
  isOwnName(name: string): boolean
  /** Writes the record to a response whose head is sent. */
  stream(response: ServerResponse): void
  /** Throws a StatusError if there is no room for another stream. */
  checkRoom?(): void
  /** What the record is of; a file has an end. */
  source: 'server' | 'file'
}

interface Asked {
  method: string | undefined
  /** Path and query. */
  url: string
  headers: IncomingHttpHeaders
}

const safety: OutgoingHttpHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
    ...["frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"],
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

const again = 'Run kubestage ui for a new link.'
const refusals: Readonly<Record<Extract<Redeemed, { refused: string }>['refused'], string>> = {
  used: `The link was used already. ${again}`,
  expired: `The link is older than ${linkMs / 60_000} minutes. ${again}`,
  unknown: `The server does not know this link; it may have started again since. ${again}`,
}

/** The page and its stream, for browsers that have opened a one-time link. It answers reads alone. */
export class UiSite {
  readonly #options: SiteOptions
  readonly #sessions: Sessions
  /** Cookies are shared by all ports of a host: each server has a name of its own. */
  readonly #cookie = `${cookiePrefix}${randomBytes(6).toString('hex')}`

  constructor(options: SiteOptions) {
    this.#options = options
    this.#sessions = new Sessions(options.clock)
  }

  /** A path with a secret, which opens one session. */
  link(): string {
    return `${root}login?once=${this.#sessions.link()}`
  }

  /** Answers every request below {@link root}; never rejects. */
  async serve(asked: Asked, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(asked, response)
    } catch (error) {
      if (response.headersSent) return void response.destroy()
      const code = error instanceof StatusError ? error.code : 500
      refuse(asked, response, { code, message: (error as Error).message })
    }
  }

  async #answer(asked: Asked, response: ServerResponse): Promise<void> {
    const { method, url, headers } = asked
    const host = headers.host ?? (headers[':authority'] as string | undefined)
    const strange = refusal({ host, origin: headers.origin }, this.#options.isOwnName)
    if (strange) return refuse(asked, response, { code: 403, message: strange })
    if (method !== 'GET') return refuse(asked, response, { code: 405, message: 'The page is read-only.' })
    const { pathname, searchParams } = new URL(url, 'http://page')
    if (pathname === root.slice(0, -1)) return redirect(response, root)
    if (pathname === `${root}login`) return this.#login(asked, response, searchParams.get('once') ?? '')
    const missing = this.#missing(headers.cookie)
    if (missing) return refuse(asked, response, { code: 401, message: missing })
    if (pathname === root)
      return send(response, 200, { type: 'text/html; charset=utf-8', bytes: Buffer.from(indexPage) })
    if (pathname === `${root}stream`) return this.#stream(response)
    const asset = (await uiAssets()).get(pathname.slice(root.length))
    if (asset) return send(response, 200, asset)
    refuse(asked, response, { code: 404, message: 'There is no such page.' })
  }

  #login(asked: Asked, response: ServerResponse, once: string): void {
    const redeemed = this.#sessions.redeem(once)
    if ('refused' in redeemed) {
      refuse(asked, response, { code: 401, message: refusals[redeemed.refused] })
      return
    }
    const secure = this.#options.isSecure ? '; Secure' : ''
    const cookie = `${this.#cookie}=${redeemed.session}; Path=/kubestage/ui; HttpOnly; SameSite=Strict${secure}`
    redirect(response, root, { 'set-cookie': cookie })
  }

  /** Why there is no session. */
  #missing(header: string | undefined): string | undefined {
    const all = cookies(header, cookiePrefix)
    if (this.#sessions.isOpen(all.get(this.#cookie) ?? '')) return undefined
    if (all.size === 0) return `The page needs a session. ${again}`
    return `The session has ended: it is older than 12 hours, or the server has started again. ${again}`
  }

  #stream(response: ServerResponse): void {
    const { checkRoom, stream, source } = this.#options
    checkRoom?.()
    response.writeHead(200, { ...safety, 'content-type': 'application/x-ndjson', 'x-kubestage-source': source })
    response.flushHeaders()
    stream(response)
  }
}

function send(response: ServerResponse, status: number, { type, bytes }: Asset): void {
  response.writeHead(status, { ...safety, 'content-type': type, 'content-length': bytes.length })
  response.end(bytes)
}

function redirect(response: ServerResponse, location: string, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(303, { ...safety, ...headers, location, 'content-length': 0 })
  response.end()
}

/** As a page for a browser that goes there, as a Status for scripts. */
function refuse(
  { headers }: Asked,
  response: ServerResponse,
  { code, message }: { code: number; message: string },
): void {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code }
  const [type, text] = headers.accept?.includes('text/html')
    ? ['text/html; charset=utf-8', sentencePage(message)]
    : ['application/json', `${JSON.stringify(status)}\n`]
  send(response, code, { type, bytes: Buffer.from(text) })
}
