import type { User } from '../kind/user.ts'
import { decide } from './chain.ts'
import { escalation } from './rbac/escalation.ts'
import type { PolicyRule } from './rbac/policy-rule.ts'
import type { RuleResolver } from './rbac/rule-resolver.ts'
import type { Attributes, Authorizer, Decision } from './types.ts'

/** Authorization for code other than the request chain. */
export interface Access {
  /** As the front door would decide. */
  decide(attributes: Attributes): Decision | Promise<Decision>
  /** Why the user may not grant these rules; undefined when they hold them all. */
  escalation(user: User, namespace: string, rules: readonly PolicyRule[]): string | undefined
  rules: RuleResolver
}

export const createAccess = (authorizers: readonly Authorizer[], rules: RuleResolver): Access => ({
  decide: (attributes) => decide(authorizers, attributes),
  escalation: (user, namespace, wanted) => escalation(rules, user, namespace, wanted),
  rules,
})
