import { anonymousUser } from '../../auth/anonymous.ts'
import { takeOutToken } from '../../auth/bearer-token.ts'
import { authenticate } from '../../auth/chain.ts'
import { wantedUser } from '../../auth/impersonation.ts'
import { impersonate } from '../../auth/impersonation-modes.ts'
import type { Authenticator, Authorizer } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf } from '../attributes.ts'
import type { Exchange } from '../exchange.ts'
import type { Connections } from '../limits/connections.ts'
import type { Step } from './step.ts'

interface AuthenticationOptions {
  authenticators: readonly Authenticator[]
  /** Asked whether the client may act as the user that it wants to be. */
  authorizers: readonly Authorizer[]
  connections: Connections
}

/** Authenticates the client, and the impersonated user. Throws a StatusError (401, 403). */
export const authentication =
  ({ authenticators, authorizers, connections }: AuthenticationOptions): Step =>
  (exchange) => {
    const { request, info, upgrade } = exchange
    const asker = authenticate(authenticators, { headers: request.headers, socket: request.socket })
    if (asker !== anonymousUser) connections.identified(request.socket, asker.name)
    if (upgrade) takeOutToken(request.headers)
    exchange.asker = asker
    const wanted = wantedUser(request.headers)
    if (!wanted) return actAs(exchange, asker)
    return impersonate(authorizers, wanted, attributesOf(info, asker)).then((user) => actAs(exchange, user))
  }

function actAs(exchange: Exchange, user: User): void {
  exchange.user = user
  exchange.attributes = attributesOf(exchange.info, user)
}
