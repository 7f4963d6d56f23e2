import { timingSafeEqual } from 'node:crypto'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { Lookup } from '../admission/admission-plugin.ts'
import type { ServiceAccountTokens } from './service-account/service-account-tokens.ts'
import type { User } from './types.ts'

interface BootstrapSecret extends KubeObject {
  type?: string
  /** Values in base64. */
  data?: Record<string, string>
}

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const secretType = 'bootstrap.kubernetes.io/token'
const extraGroup = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/

/**
 * Whose bootstrap token this is: a Secret `bootstrap-token-<id>` in kube-system says so. Undefined for one that is unknown,
 * expired or not meant for authentication. Upstream: plugin/pkg/auth/authenticator/token/bootstrap.
 */
function bootstrapperOf(token: string, lookup: Lookup, nowMs: number): User | undefined {
  const [, id = '', secret = ''] = form.exec(token) ?? []
  const name = `bootstrap-token-${id}`
  const found = lookup({ group: '', plural: 'secrets' }, 'kube-system', name) as BootstrapSecret | undefined
  if (!found || found.type !== secretType || found.metadata.deletionTimestamp) return undefined
  const value = (key: string): string => Buffer.from(found.data?.[key] ?? '', 'base64').toString()
  const expiration = value('expiration')
  // A time that cannot be read counts as past.
  if (expiration && !(readTime(expiration) > nowMs)) return undefined
  if (!isSame(value('token-secret'), secret) || value('token-id') !== id) return undefined
  if (value('usage-bootstrap-authentication') !== 'true') return undefined
  const extra = value('auth-extra-groups').split(',').filter(Boolean)
  if (!extra.every((group) => extraGroup.test(group))) return undefined
  const groups = [...new Set(['system:bootstrappers', ...extra])].sort()
  return { name: `system:bootstrap:${id}`, groups: [...groups, 'system:authenticated'] }
}

function readTime(text: string): number {
  try {
    return parseTime(text)
  } catch {
    return Number.NaN
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Tokens of service accounts, and those that join nodes, told apart by their form. */
export function withBootstrapTokens(
  tokens: ServiceAccountTokens,
  { lookup, clock }: { lookup: Lookup; clock: Clock },
): ServiceAccountTokens {
  return {
    ...tokens,
    authenticate(token, audiences) {
      if (!form.test(token)) return tokens.authenticate(token, audiences)
      const user = bootstrapperOf(token, lookup, clock.now())
      if (!user || (audiences && !tokens.isForApi(audiences))) return undefined
      return { user, audiences: [...(audiences ?? [tokens.issuer()])] }
    },
  }
}
