import { StatusError } from '../../shared/api/status-error.ts'
import { refusal } from './refusal.ts'
import type { Attributes, Authenticator, Authorizer, Credentials, Decision, User } from './types.ts'

/** The first authenticator that knows the credentials decides who asks; a StatusError (401) when none does. */
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

/** Throws a StatusError (403) unless one allows; returns a promise only when an authorizer had to look something up. */
export function authorize(authorizers: readonly Authorizer[], attributes: Attributes): void | Promise<void> {
  return ask(authorizers, attributes, 0, [])
}

function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  start: number,
  reasons: string[],
): void | Promise<void> {
  for (let index = start; index < authorizers.length; index++) {
    const decision = authorizers[index]!.authorize(attributes)
    if (decision instanceof Promise) {
      return decision.then((settled) => {
        if (!isAllowed(settled, attributes, reasons)) return ask(authorizers, attributes, index + 1, reasons)
      })
    }
    if (isAllowed(decision, attributes, reasons)) return
  }
  throw refusal(attributes, reasons)
}

function isAllowed(decision: Decision, attributes: Attributes, reasons: string[]): boolean {
  if (decision.reason && decision.verdict !== 'allow') reasons.push(decision.reason)
  if (decision.verdict === 'deny') throw refusal(attributes, reasons)
  return decision.verdict === 'allow'
}
