import type { User } from '../kind/user.ts'
import { decide } from './chain.ts'
import { escalation } from './rbac/escalation.ts'
import type { PolicyRule } from './rbac/policy-rule.ts'
import type { RuleResolver } from './rbac/rule-resolver.ts'
import type { Attributes, Authorizer, Decision } from './types.ts'

/** Offers authorization to code outside of the request chain. */
export interface Access {
  /** Returns the decision that the request chain would make. */
  decide(attributes: Attributes): Decision | Promise<Decision>
  /** Returns why the user may not grant these rules; undefined if the user holds them all. */
  escalation(user: User, namespace: string, rules: readonly PolicyRule[]): string | undefined
  rules: RuleResolver
}

export const createAccess = (authorizers: readonly Authorizer[], rules: RuleResolver): Access => ({
  decide: (attributes) => decide(authorizers, attributes),
  escalation: (user, namespace, wanted) => escalation(rules, user, namespace, wanted),
  rules,
})
