import { notAcceptableRoute } from '../../../shared/api/status/status-errors.ts'
import type { ServiceAccountTokens } from '../../auth/service-account/service-account-tokens.ts'
import { keySet } from '../../auth/service-account/signing-key.ts'
import { parseAccept } from '../encode/negotiation.ts'
import { sendJson } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { onlyGet, type PathRoutes } from '../routing/paths.ts'

const maxAge = { 'cache-control': 'public, max-age=3600' }
const keySetType = 'application/jwk-set+json'

/** Throws a StatusError (406) for a client that does not take the type. */
function assertTakes({ request: { headers } }: Exchange, wanted: string): void {
  if (headers.accept && !parseAccept(headers.accept).some(({ type }) => type === '*/*' || type === wanted))
    throw notAcceptableRoute(`Available representations: ${wanted}`)
}

/** Serves what other programs need to verify a service account's token. Upstream: pkg/routes/openidmetadata.go. */
export function tokenIssuerRoutes(tokens: ServiceAccountTokens): PathRoutes[] {
  return [
    {
      first: '.well-known',
      paths: {
        '/openid-configuration': onlyGet(async (exchange) => {
          assertTakes(exchange, 'application/json')
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
          assertTakes(exchange, keySetType)
          const headers = { ...maxAge, 'content-type': keySetType }
          sendJson(exchange, { status: 200, json: JSON.stringify(keySet(await tokens.key())), headers })
        }),
      },
    },
  ]
}
