import { authorize } from '../../auth/chain.ts'
import type { Authorizer, Decision } from '../../auth/types.ts'
import type { Exchange } from '../exchange.ts'
import type { Step } from './step.ts'

/** Throws a StatusError (403) for what the user may not do. */
export const authorization =
  (authorizers: readonly Authorizer[]): Step =>
  ({ attributes, audit }) =>
    authorize(authorizers, attributes, audit && ((decision) => tell(audit, decision)))

/** Upstream: apiserver/pkg/endpoints/filters/authorization.go. */
function tell(audit: NonNullable<Exchange['audit']>, { verdict, reason = '' }: Decision): void {
  audit.annotate('authorization.k8s.io/decision', verdict === 'allow' ? 'allow' : 'forbid')
  audit.annotate('authorization.k8s.io/reason', reason)
}
