import {
  type BootstrapToken,
  type BootstrapTokenSecret,
  bootstrappersForm,
  bootstrappersGroup,
  bootstrapTokenNamespace,
  bootstrapTokenType,
  isSameSecret,
  parseToken,
  secretNameOf,
  tokenTimeLeftMs,
  tokenValue,
} from '../../shared/api/bootstrap-token.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Lookup } from '../kind/lookup.ts'
import type { User } from '../kind/user.ts'
import type { ServiceAccountTokens } from './service-account/service-account-tokens.ts'

/**
 * Returns the user of a bootstrap token, from the Secret `bootstrap-token-<id>` in kube-system; undefined for a token
 * that is unknown, expired or not meant for authentication. Upstream: plugin/pkg/auth/authenticator/token/bootstrap.
 */
function bootstrapperOf({ id, secret }: BootstrapToken, lookup: Lookup, nowMs: number): User | undefined {
  const found: BootstrapTokenSecret | undefined = lookup(
    { group: '', plural: 'secrets' },
    bootstrapTokenNamespace,
    secretNameOf(id),
  )
  if (!found || found.type !== bootstrapTokenType || found.metadata.deletionTimestamp) return undefined
  const value = (key: string): string => tokenValue(found, key)
  if (!isSameSecret(value('token-secret'), secret) || value('token-id') !== id) return undefined
  if (tokenTimeLeftMs(found, nowMs) <= 0 || value('usage-bootstrap-authentication') !== 'true') return undefined
  const given = value('auth-extra-groups')
  const extra = given === '' ? [] : given.split(',')
  if (!extra.every((group) => bootstrappersForm.test(group))) return undefined
  const groups = [...new Set([bootstrappersGroup, ...extra])].sort()
  return { name: `system:bootstrap:${id}`, groups: [...groups, 'system:authenticated'] }
}

/** Tokens of service accounts, and those that join nodes, told apart by their form. */
export function withBootstrapTokens(
  tokens: ServiceAccountTokens,
  { lookup, clock }: { lookup: Lookup; clock: Clock },
): ServiceAccountTokens {
  return {
    issuer: () => tokens.issuer(),
    isForApi: (audiences) => tokens.isForApi(audiences),
    key: () => tokens.key(),
    settled: () => tokens.settled(),
    issue: (subject, options) => tokens.issue(subject, options),
    authenticate(token, audiences) {
      const parsed = parseToken(token)
      if (!parsed) return tokens.authenticate(token, audiences)
      const user = bootstrapperOf(parsed, lookup, clock.now())
      if (!user || (audiences && !tokens.isForApi(audiences))) return undefined
      return { user, audiences: [...(audiences ?? [tokens.issuer()])] }
    },
  }
}
