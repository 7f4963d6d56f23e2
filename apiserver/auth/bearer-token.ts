import { unauthorized } from './chain.ts'
import type { ServiceAccountTokens } from './service-account/service-account-tokens.ts'
import type { Authenticator } from './types.ts'

/** A token is a service account's, or a bad one: 401, even where anybody may look. An empty one counts as none. */
export function bearerToken(tokens: Pick<ServiceAccountTokens, 'authenticate'>): Authenticator {
  return {
    authenticate({ headers }) {
      const token = /^bearer +(\S+)/i.exec(headers.authorization ?? '')?.[1] ?? protocolToken(headers)
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

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.'

/** A browser can set no header of a WebSocket but this one. */
function protocolToken(headers: Parameters<Authenticator['authenticate']>[0]['headers']): string | undefined {
  const protocols = headers['sec-websocket-protocol']
  if (!protocols?.includes(protocolPrefix)) return undefined
  const found = protocols.split(',').find((protocol) => protocol.trim().startsWith(protocolPrefix))
  return found && Buffer.from(found.trim().slice(protocolPrefix.length), 'base64url').toString('utf8')
}
