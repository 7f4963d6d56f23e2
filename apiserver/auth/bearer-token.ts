import { unauthorized } from './chain.ts'
import type { ServiceAccountTokens } from './service-account/service-account-tokens.ts'
import type { Authenticator, Credentials } from './types.ts'

/** A token is a service account's, or a bad one: 401, also on public paths. An empty one counts as none. */
export function bearerToken(tokens: Pick<ServiceAccountTokens, 'authenticate'>): Authenticator {
  return {
    authenticate({ headers }) {
      const token = /^bearer (\S+)/i.exec(headers.authorization ?? '')?.[1] ?? protocolToken(headers)
      if (!token) return undefined
      let bearer: ReturnType<ServiceAccountTokens['authenticate']>
      try {
        bearer = tokens.authenticate(token)
      } catch {
        // Why it is good no longer is told by a TokenReview, not to the bearer.
      }
      if (!bearer) throw unauthorized()
      return bearer.user
    },
  }
}

/** Returns whether the header has another space before the token, which is not read then. */
export const hasSpaceBeforeToken = ({ authorization }: Headers): boolean => /^bearer {2,}\S/i.test(authorization ?? '')

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.'

/** A browser can set no header of a WebSocket but this one. */
function protocolToken(headers: Headers): string | undefined {
  const found = protocolsOf(headers).find(isToken)
  return found && Buffer.from(found.slice(protocolPrefix.length), 'base64url').toString('utf8')
}

/** Strips subprotocols that carry a token, so that backends never see it. */
export function takeOutToken(headers: Headers): void {
  const offered = protocolsOf(headers)
  if (!offered.some(isToken)) return
  const others = offered.filter((protocol) => !isToken(protocol))
  if (others.length > 0) headers['sec-websocket-protocol'] = others.join(', ')
  else delete headers['sec-websocket-protocol']
}

type Headers = Credentials['headers']
const isToken = (protocol: string): boolean => protocol.startsWith(protocolPrefix)
const protocolsOf = (headers: Headers): string[] =>
  headers['sec-websocket-protocol']?.split(',').map((protocol) => protocol.trim()) ?? []
