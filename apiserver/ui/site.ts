import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { badRequest } from '../../shared/api/status/status-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { InjectedAnswer, InjectedRequest } from '../../shared/http/injected-request.ts'
import { actionOf, logRequestOf, maxActionBytes } from './actions.ts'
import { cookies, refusal } from './guard.ts'
import { nothing, sentencePage, wholePage } from './pages.ts'
import { type Actor, type Grant, linkMs, type Redeemed, Sessions } from './sessions.ts'

const root = '/kubestage/ui/'
const cookiePrefix = 'kubestage-ui-'

export interface SiteOptions {
  /** Holds the machine's clock. */
  clock: Clock
  /** True if the site is served over TLS. */
  isSecure: boolean
  /** Returns whether clients reach this server by the name. */
  isOwnName(name: string): boolean
  /** Writes the record to a response whose head is sent. */
  stream(response: ServerResponse): void
  /** Throws a StatusError if there is no room for another stream. */
  checkRoom?(): void
  /** Says what the record shows; a file has an end. */
  source: 'server' | 'file'
}

/** Resolves to the body of a request. Rejects with a StatusError (413) for a longer one. */
type Body = (maxBytes: number) => Promise<string>

interface Asked {
  method: string | undefined
  /** Path and query. */
  url: string
  headers: IncomingHttpHeaders
  /** Where there is a cluster: the body, and a request of the API by a user. */
  body?: Body
  act?(actor: Actor, request: InjectedRequest): Promise<InjectedAnswer>
}

const noFrame = "frame-ancestors 'none'"
const safety: OutgoingHttpHeaders = {
  'content-security-policy': `${nothing}; ${noFrame}`,
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

const readOnly = 'This page may only read. Open one that may act with kubestage ui --ui-actions.'

/** The page and its stream, for browsers that have opened a one-time link: to read, and to act if the link says so. */
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
  link(grant?: Grant): string {
    return `${root}login?once=${this.#sessions.link(grant)}`
  }

  /**
   * Makes a link for a user. The body `{"actions": true}` asks for a page that may act as the user. Rejects with a
   * StatusError (400) for a body that is not JSON.
   */
  async linkFor(user: Actor, body: Body): Promise<{ path: string; expiresInSeconds: number }> {
    const mayAct = wantsActions(await body(maxActionBytes))
    return { path: this.link({ user, mayAct }), expiresInSeconds: linkMs / 1000 }
  }

  /** Answers every request below {@link root}; never rejects. */
  async serve(asked: Asked, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(asked, response)
    } catch (error) {
      if (response.headersSent) return void response.destroy()
      const code = error instanceof StatusError ? error.code : 500
      tell(asked, response, { code, message: (error as Error).message })
    }
  }

  async #answer(asked: Asked, response: ServerResponse): Promise<void> {
    const { method, url, headers } = asked
    const host = headers.host ?? (headers[':authority'] as string | undefined)
    const strange = refusal({ host, origin: headers.origin }, this.#options.isOwnName)
    if (strange) return tell(asked, response, { code: 403, message: strange })
    if (method === 'POST' && url === `${root}actions`) return this.#act(asked, response)
    if (method !== 'GET') return tell(asked, response, { code: 405, message: 'The page is read-only.' })
    const { pathname, searchParams } = new URL(url, 'http://page')
    if (pathname === root.slice(0, -1)) return redirect(response, root)
    if (pathname === `${root}login`) return this.#login(asked, response, searchParams.get('once') ?? '')
    const missing = this.#missing(headers.cookie)
    if (missing) return tell(asked, response, { code: 401, message: missing })
    if (pathname === root) return this.#page(response)
    if (pathname === `${root}stream`) return this.#stream(response, this.#session(headers.cookie)?.mayAct === true)
    if (pathname === `${root}log`) return this.#log(asked, response, searchParams)
    tell(asked, response, { code: 404, message: 'There is no such page.' })
  }

  async #page(response: ServerResponse): Promise<void> {
    const { html, policy } = await wholePage()
    const own = { 'content-security-policy': `${policy}; connect-src 'self'; ${noFrame}` }
    send(response, 200, { type: 'text/html; charset=utf-8', text: html }, own)
  }

  #login(asked: Asked, response: ServerResponse, once: string): void {
    const redeemed = this.#sessions.redeem(once)
    if ('refused' in redeemed) {
      tell(asked, response, { code: 401, message: refusals[redeemed.refused] })
      return
    }
    const secure = this.#options.isSecure ? '; Secure' : ''
    const cookie = `${this.#cookie}=${redeemed.session}; Path=/kubestage/ui; HttpOnly; SameSite=Strict${secure}`
    redirect(response, root, { 'set-cookie': cookie })
  }

  /** Returns why there is no session. */
  #missing(header: string | undefined): string | undefined {
    const all = cookies(header, cookiePrefix)
    if (this.#session(header)) return undefined
    if (all.size === 0) return `The page needs a session. ${again}`
    return `The session has ended: it is older than 12 hours, or the server has started again. ${again}`
  }

  #session(header: string | undefined): Grant | undefined {
    return this.#sessions.get(cookies(header, cookiePrefix).get(this.#cookie) ?? '')
  }

  /** Pages of other origins cannot send this: their Origin is their own, and JSON needs a permission. */
  async #act(asked: Asked, response: ServerResponse): Promise<void> {
    const { headers, body, act } = asked
    const missing = this.#missing(headers.cookie)
    if (missing) return tell(asked, response, { code: 401, message: missing })
    const { user, mayAct } = this.#session(headers.cookie) ?? {}
    if (!user || !mayAct || !body || !act) return tell(asked, response, { code: 403, message: readOnly })
    if (headers.origin === undefined) throw badRequest('a request to act needs the Origin of the page')
    if (headers['content-type'] !== 'application/json') throw badRequest('the body must be application/json')
    const { request, done } = actionOf(await body(maxActionBytes))
    const { statusCode, body: answer } = await act(user, request)
    const isDone = statusCode < 300
    const message = isDone ? done : messageOf(answer)
    tell(asked, response, { code: isDone ? 200 : statusCode, message })
  }

  /** The last lines of a container, as the user of the link may read them. */
  async #log(asked: Asked, response: ServerResponse, query: URLSearchParams): Promise<void> {
    const user = this.#session(asked.headers.cookie)?.user
    if (!user || !asked.act) return tell(asked, response, { code: 404, message: 'A record has no logs.' })
    const { statusCode, body } = await asked.act(user, logRequestOf(query))
    if (statusCode !== 200) return tell(asked, response, { code: statusCode, message: messageOf(body) })
    send(response, 200, { type: 'text/plain; charset=utf-8', text: body })
  }

  #stream(response: ServerResponse, mayAct: boolean): void {
    const { checkRoom, stream, source } = this.#options
    checkRoom?.()
    response.writeHead(200, {
      ...safety,
      'content-type': 'application/x-ndjson',
      'x-kubestage-source': source,
      ...(mayAct && { 'x-kubestage-actions': 'allowed' }),
    })
    response.flushHeaders()
    stream(response)
  }
}

function wantsActions(text: string): boolean {
  if (text === '') return false
  try {
    return (JSON.parse(text) as { actions?: unknown } | null)?.actions === true
  } catch (error) {
    throw badRequest(`the body is not valid JSON: ${(error as Error).message}`)
  }
}

function send(
  response: ServerResponse,
  status: number,
  { type, text }: { type: string; text: string },
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    ...safety,
    ...headers,
    'content-type': type,
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

function messageOf(answer: string): string {
  try {
    return (JSON.parse(answer) as { message?: string }).message ?? answer
  } catch {
    return answer
  }
}

function redirect(response: ServerResponse, location: string, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(303, { ...safety, ...headers, location, 'content-length': 0 })
  response.end()
}

/** Answers with one sentence: a page for a browser that navigates, a Status for scripts. */
function tell(
  { headers }: Asked,
  response: ServerResponse,
  { code, message }: { code: number; message: string },
): void {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: code < 300 ? 'Success' : 'Failure',
    message,
    code,
  }
  const [type, text] = headers.accept?.includes('text/html')
    ? ['text/html; charset=utf-8', sentencePage(message)]
    : ['application/json', `${JSON.stringify(status)}\n`]
  send(response, code, { type, text })
}
