import { anonymousUser } from '../../auth/anonymous.ts'
import { takeOutToken } from '../../auth/bearer-token.ts'
import { authenticate } from '../../auth/chain.ts'
import { wantedUser } from '../../auth/impersonation.ts'
import { impersonate } from '../../auth/impersonation-modes.ts'
import type { Authenticator, Authorizer, Credentials } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf } from '../attributes.ts'
import type { Exchange } from '../exchange.ts'
import type { Connections } from '../limits/connections.ts'
import type { Audit } from './audit.ts'
import type { Step } from './step.ts'

interface AuthenticationOptions {
  authenticators: readonly Authenticator[]
  /** Asked whether the client may act as the user that it wants to be. */
  authorizers: readonly Authorizer[]
  connections: Connections
  audit?: Audit
}

/** Authenticates the client, and the impersonated user. Throws a StatusError (401, 403). */
export function authentication({ authenticators, authorizers, connections, audit }: AuthenticationOptions): Step {
  return (exchange) => {
    const { request, info, upgrade } = exchange
    const credentials = { headers: request.headers, socket: request.socket }
    const asker = audit ? audited(audit, exchange, credentials) : authenticate(authenticators, credentials)
    if (asker !== anonymousUser) connections.identified(request.socket, asker.name)
    if (upgrade) takeOutToken(request.headers)
    exchange.asker = asker
    const wanted = wantedUser(request.headers)
    if (!wanted) return actAs(exchange, asker)
    return impersonate(authorizers, wanted, attributesOf(info, asker)).then((user) => actAs(exchange, user))
  }

  function audited(audit: Audit, exchange: Exchange, credentials: Credentials): User {
    let asker: User
    try {
      asker = authenticate(authenticators, credentials)
    } catch (error) {
      audit.refuse(exchange)
      throw error
    }
    audit.begin(exchange, asker)
    return asker
  }
}

function actAs(exchange: Exchange, user: User): void {
  exchange.user = user
  if (exchange.audit && user !== exchange.asker) exchange.audit.impersonates(user)
  exchange.attributes = attributesOf(exchange.info, user)
}
