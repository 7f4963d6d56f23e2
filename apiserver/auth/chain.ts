import { StatusError } from '../../shared/api/status/status-error.ts'
import type { User } from '../kind/user.ts'
import { refusal } from './refusal.ts'
import type { Attributes, Authenticator, Authorizer, Credentials, Decision } from './types.ts'

/** The first authenticator that knows the credentials determines the user; a StatusError (401) when none does. */
export function authenticate(authenticators: readonly Authenticator[], credentials: Credentials): User {
  for (const authenticator of authenticators) {
    const user = authenticator.authenticate(credentials)
    if (user) return user
  }
  throw unauthorized()
}

export function unauthorized(): StatusError {
  return new StatusError({ message: 'Unauthorized', reason: 'Unauthorized', code: 401 })
}

interface Audit {
  decided(decision: Decision): void
}

/**
 * Throws a StatusError (403) unless one allows; returns a promise only when an authorizer had to look something up.
 * `audit` learns the decision first.
 */
export function authorize(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  audit?: Audit,
): void | Promise<void> {
  const decision = decide(authorizers, attributes)
  if (decision instanceof Promise) return decision.then((settled) => enforce(settled, attributes, audit))
  enforce(decision, attributes, audit)
}

function enforce(decision: Decision, attributes: Attributes, audit?: Audit): void {
  const { verdict, reason } = decision
  audit?.decided(decision)
  if (verdict !== 'allow') throw refusal(attributes, reason)
}

/**
 * Returns the decision of the first authorizer that has an opinion. If none has, the verdict is `no opinion`, with the
 * reasons of all. Like {@link authorize}, returns a promise only if an authorizer does.
 */
export function decide(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  start = 0,
  reasons: readonly string[] = [],
): Decision | Promise<Decision> {
  let told = reasons
  for (let index = start; index < authorizers.length; index++) {
    const decision = authorizers[index]!.authorize(attributes)
    if (decision instanceof Promise) {
      return decision.then((settled) =>
        settled.verdict === 'no opinion'
          ? decide(authorizers, attributes, index + 1, settled.reason ? [...told, settled.reason] : told)
          : settled,
      )
    }
    if (decision.verdict !== 'no opinion') return decision
    if (decision.reason) told = [...told, decision.reason]
  }
  return { verdict: 'no opinion', ...(told.length > 0 && { reason: told.join('\n') }) }
}
