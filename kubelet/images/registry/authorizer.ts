import { STATUS_CODES } from '../../../shared/http/node-http.ts'
import type { Credentials } from '../../runtime/container-runtime.ts'
import { BadImage } from '../bad-image.ts'
import { readAll } from '../chunks.ts'
import { type Challenge, readChallenges } from './challenge.ts'
import { PullError } from './pull-error.ts'
import { discard, type Response, type Transport } from './transport.ts'

interface AuthorizerOptions {
  transport: Transport
  /** The registry whose challenges are answered. */
  registry: URL
  verifiesCertificate: boolean
  /** Names the right, such as `repository:library/nginx:pull`. */
  scope: string
  credentials?: Credentials
}

const mostTokenBytes = 256 * 1024
const denied = 'pull access denied, repository does not exist or may require authorization'

/** Answers a registry's challenges: with a user and a password, or with a token, which may need no user. */
export class Authorizer {
  /** The value of the header `authorization`, as soon as the registry has asked for one. */
  header: string | undefined
  readonly #options: AuthorizerOptions

  constructor(options: AuthorizerOptions) {
    this.#options = options
  }

  /** Prepares {@link header} after a 401. Throws {@link PullError} if nothing can be said. */
  async answer(response: Response, signal: AbortSignal): Promise<void> {
    discard(response)
    const { bearer, basic } = challengesOf(response)
    if (bearer) this.header = `Bearer ${await this.#token(bearer, signal)}`
    else if (basic) this.header = this.#basic()
  }

  /** Throws {@link PullError} if the registry says why it refuses what {@link header} has. */
  assertNotRefused(response: Response): void {
    const problem = challengesOf(response).bearer?.parameters.error
    if (problem) throw new PullError(`${denied}: server message: ${problem}: authorization failed`)
  }

  #basic(): string {
    const { credentials } = this.#options
    if (!credentials?.username || !credentials.password)
      throw new PullError(`${denied}: authorization failed: no basic auth credentials`)
    return basicHeader(credentials)
  }

  async #token({ parameters }: Challenge, signal: AbortSignal): Promise<string> {
    const { credentials, transport, verifiesCertificate, scope: usual } = this.#options
    const url = this.#realm(parameters.realm)
    const { service = '', scope = usual } = parameters
    const method = credentials?.identityToken ? 'POST' : 'GET'
    if (method === 'GET') {
      for (const [name, value] of Object.entries({ service, scope })) url.searchParams.set(name, value)
      url.searchParams.sort()
    }
    const response = await transport.send(url.href, {
      method,
      verifiesCertificate,
      signal,
      ...(credentials?.identityToken
        ? {
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            body: refresh(credentials.identityToken, { service, scope }),
          }
        : { headers: credentials ? { authorization: basicHeader(credentials) } : {} }),
    })
    const kind = credentials ? 'oauth' : 'anonymous'
    const fail = (why: string) => new PullError(`failed to authorize: failed to fetch ${kind} token: ${why}`)
    if (response.status !== 200) {
      discard(response)
      throw fail(unexpected(method, url, response.status, url.search))
    }
    try {
      return tokenIn(await readAll(response.body, mostTokenBytes, 'the token'))
    } catch (error) {
      throw fail(error instanceof BadImage ? error.message : transport.why(error as Error, url))
    }
  }

  #realm(realm = ''): URL {
    const { registry, credentials } = this.#options
    try {
      const url = new URL(realm)
      const isSafe = url.protocol === 'https:' || registry.protocol === 'http:' || !credentials
      if (/^https?:$/.test(url.protocol) && isSafe) return url
    } catch {
      // told below
    }
    throw new PullError(
      `failed to authorize: ${registry.host} says that tokens are at ${JSON.stringify(realm.slice(0, 200))}`,
    )
  }
}

function challengesOf({ headers }: Response): { bearer?: Challenge; basic?: Challenge } {
  const challenges = readChallenges(headers['www-authenticate'])
  const of = (name: string) => challenges.find(({ scheme }) => scheme === name)
  return { bearer: of('bearer'), basic: of('basic') }
}

const basicHeader = ({ username, password }: Credentials): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

const refresh = (token: string, { service, scope }: { service: string; scope: string }): string =>
  new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: 'kubestage',
    refresh_token: token,
    service,
    scope,
  }).toString()

function tokenIn(bytes: Uint8Array): string {
  try {
    const { token, access_token: accessToken } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
    const found = token || accessToken
    if (typeof found === 'string' && /^[\x21-\x7e]+$/.test(found)) return found
  } catch {
    // told below
  }
  throw new BadImage('the answer has no token')
}

/** Says what containerd says of an answer that is no success. */
export const unexpected = (method: string, url: URL, status: number, query = ''): string =>
  `unexpected status from ${method} request to ${url.origin}${url.pathname}${query}: ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()
