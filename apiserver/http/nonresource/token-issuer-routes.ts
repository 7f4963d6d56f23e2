import { notAcceptableRoute } from '../../../shared/api/status/status-errors.ts'
import type { ServiceAccountTokens } from '../../auth/service-account/service-account-tokens.ts'
import { keySet } from '../../auth/service-account/signing-key.ts'
import { parseAccept } from '../encode/negotiation.ts'
import { sendJson } from '../encode/respond.ts'
import { onlyGet, type PathRoutes } from '../routing/paths.ts'

const maxAge = { 'cache-control': 'public, max-age=3600' }
const keySetType = 'application/jwk-set+json'

/** Serves what other programs need to verify a service account's token. Upstream: pkg/routes/openidmetadata.go. */
export function tokenIssuerRoutes(tokens: ServiceAccountTokens): PathRoutes[] {
  return [
    {
      first: '.well-known',
      paths: {
        '/openid-configuration': onlyGet(async (exchange) => {
          const { algorithm } = await tokens.key()
          const document = {
            issuer: tokens.issuer(),
            jwks_uri: `${tokens.issuer()}/openid/v1/jwks`,
            response_types_supported: ['id_token'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: [algorithm],
          }
          sendJson(exchange, { status: 200, json: JSON.stringify(document), headers: maxAge })
        }),
      },
    },
    {
      first: 'openid',
      paths: {
        '/v1/jwks': onlyGet(async (exchange) => {
          const { accept } = exchange.request.headers
          if (accept && !parseAccept(accept).some(({ type }) => type === '*/*' || type === keySetType))
            throw notAcceptableRoute(`Available representations: ${keySetType}`)
          const headers = { ...maxAge, 'content-type': keySetType }
          sendJson(exchange, { status: 200, json: JSON.stringify(keySet(await tokens.key())), headers })
        }),
      },
    },
  ]
}
