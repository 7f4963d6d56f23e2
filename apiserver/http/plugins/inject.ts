import type { FastifyInstance } from 'fastify'
import type { InjectedAnswer, InjectedRequest } from '../../../shared/http/injected-request.ts'
import { anonymousUser } from '../../auth/anonymous.ts'
import { actingAs } from '../../auth/impersonation.ts'
import { actOn } from '../../auth/injected.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf } from '../attributes.ts'
import { withReason } from '../reason-prefix.ts'
import { booleanParameter, parseRequestInfo } from '../request-info.ts'

/** Answers a request without a network, through all hooks. Rejects requests that do not end, such as a watch. */
export async function inject(
  app: Pick<FastifyInstance, 'routing'>,
  user: Pick<User, 'name' | 'groups'>,
  request: InjectedRequest,
): Promise<InjectedAnswer> {
  const acting = userOf(user)
  assertEnds(request, acting)
  const { default: answer } = await import('light-my-request')
  const { statusCode, headers, body, rawPayload, json } = await answer(
    (raw, response) => {
      actOn(raw.socket, acting)
      app.routing(raw as never, response as never)
    },
    { ...request, headers: { 'user-agent': 'kubestage-inject', ...request.headers } },
  )
  return { statusCode, headers, body, rawBody: rawPayload, json }
}

/** Adds the group that all users of the kind have. */
function userOf({ name, groups }: Pick<User, 'name' | 'groups'>): User {
  return name === anonymousUser.name ? anonymousUser : actingAs({ name, groups, extra: {} }, [])
}

function assertEnds({ method = 'GET', url }: InjectedRequest, user: User): void {
  const info = parseRequestInfo(method, withReason(method, url))
  const { verb, resource } = attributesOf(info, user)
  const subresource = resource?.subresource
  const { text, takesConnection } = traitsOf(subresource)
  const what =
    verb === 'watch'
      ? 'a watch'
      : text && booleanParameter(info.query, text.endless)
        ? `a ${subresource} that is followed`
        : takesConnection && subresource
  if (what) throw new Error(`inject: ${what} has no end; use a client over the network`)
}
