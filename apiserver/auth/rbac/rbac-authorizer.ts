import type { Authorizer } from '../types.ts'
import { allows } from './policy-rule.ts'
import type { RuleResolver } from './rule-resolver.ts'

/** Roles and their bindings only ever allow. Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go. */
export function createRbacAuthorizer(resolver: RuleResolver): Authorizer {
  return {
    authorize(attributes) {
      const errors = new Set<string>()
      for (const granted of resolver.rulesFor(attributes.user, attributes.resource?.namespace ?? '')) {
        if ('error' in granted) errors.add(granted.error)
        else if (allows(granted.rule, attributes))
          return { verdict: 'allow', reason: `RBAC: allowed by ${granted.source()}` }
      }
      if (errors.size === 0) return { verdict: 'no opinion' }
      const texts = [...errors].join(', ')
      return { verdict: 'no opinion', reason: `RBAC: ${errors.size > 1 ? `[${texts}]` : texts}` }
    },
  }
}
