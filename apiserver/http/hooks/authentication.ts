import { anonymousUser } from '../../auth/anonymous.ts'
import { hasSpaceBeforeToken, takeOutToken } from '../../auth/bearer-token.ts'
import { authenticate } from '../../auth/chain.ts'
import { wantedUser } from '../../auth/impersonation.ts'
import { impersonate, LastModes } from '../../auth/impersonation-modes.ts'
import type { Attributes, Authenticator, Authorizer, Credentials } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf } from '../attributes.ts'
import type { Exchange } from '../exchange.ts'
import type { Connections } from '../limits/connections.ts'
import type { Audit } from './audit.ts'
import type { Step } from './step.ts'

export interface AuthenticationOptions {
  authenticators: readonly Authenticator[]
  /** Asked whether the client may act as the user that it wants to be. */
  authorizers: readonly Authorizer[]
  connections: Connections
  /** Present where requests are recorded in an audit log. */
  audit?: Audit
}

const extraSpace = 'the provided Authorization header contains extra space before the bearer token, and is ignored'

/** Authenticates the client, and the impersonated user. Throws a StatusError (401, 403). */
export function authentication({ authenticators, authorizers, connections, audit }: AuthenticationOptions): Step {
  const lastModes = new LastModes()
  return (exchange) => {
    const { request, info, upgrade } = exchange
    const credentials = { headers: request.headers, socket: request.socket }
    const asker = audit ? audited(audit, exchange, credentials) : authenticate(authenticators, credentials)
    const attributes = attributesOf(info, asker)
    audit?.begin(exchange, asker, attributes)
    if (asker !== anonymousUser) connections.identified(request.socket, asker.name)
    if (hasSpaceBeforeToken(request.headers)) exchange.warnings.add(extraSpace)
    if (upgrade) takeOutToken(request.headers)
    exchange.asker = asker
    const wanted = wantedUser(request.headers)
    if (!wanted) return actAs(exchange, attributes)
    return impersonate(authorizers, wanted, attributes, lastModes).then((user) =>
      actAs(exchange, attributesOf(info, user)),
    )
  }

  function audited(audit: Audit, exchange: Exchange, credentials: Credentials): User {
    try {
      return authenticate(authenticators, credentials)
    } catch (error) {
      audit.refuse(exchange)
      throw error
    }
  }
}

function actAs(exchange: Exchange, attributes: Attributes): void {
  const { user } = attributes
  exchange.user = user
  if (exchange.audit && user !== exchange.asker) exchange.audit.impersonates(user)
  exchange.attributes = attributes
}
