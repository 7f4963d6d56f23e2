import { authorize } from '../../auth/chain.ts'
import type { Authorizer } from '../../auth/types.ts'
import type { Step } from './step.ts'

/** Throws a StatusError (403) for what the user may not do. */
export const authorization =
  (authorizers: readonly Authorizer[]): Step =>
  ({ attributes }) =>
    authorize(authorizers, attributes)
