import { badRequest } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ServiceAccountTokens } from '../../auth/service-account/service-account-tokens.ts'
import { review } from './review.ts'
import { userInfo } from './self-subject-review.ts'

interface TokenReview extends KubeObject {
  spec: { token?: string; audiences?: string[] }
}

/**
 * Answers with the user of a token, or says why the token is not valid. Throws a StatusError (400) without a token.
 * Upstream: pkg/registry/authentication/tokenreview.
 */
export const tokenReview = review<TokenReview>({ user: {} }, (object, { api }) => {
  const { token, audiences } = object.spec
  if (!token) throw badRequest('token is required for TokenReview in authentication')
  object.status = statusOf(api.tokens, token, audiences?.length ? audiences : undefined)
})

function statusOf(tokens: ServiceAccountTokens, token: string, audiences: readonly string[] | undefined): object {
  try {
    const bearer = tokens.authenticate(token, audiences)
    if (!bearer) return { user: {}, error: 'invalid bearer token' }
    return { authenticated: true, user: userInfo(bearer.user), audiences: bearer.audiences }
  } catch (error) {
    return { user: {}, error: `[invalid bearer token, ${(error as Error).message}]` }
  }
}
