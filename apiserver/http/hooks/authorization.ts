import { authorize } from '../../auth/chain.ts'
import type { Authorizer } from '../../auth/types.ts'
import type { Step } from './step.ts'

/**
 * Throws a StatusError (403) for what the user may not do. Upstream: apiserver/pkg/endpoints/filters/authorization.go.
 */
export const authorization =
  (authorizers: readonly Authorizer[]): Step =>
  ({ attributes, audit }) =>
    authorize(authorizers, attributes, audit)
