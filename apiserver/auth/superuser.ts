import type { Authorizer } from './types.ts'

/** The group system:masters may do everything, before anyone else is asked. */
export const superuser: Authorizer = {
  authorize: ({ user }) => ({ verdict: user.groups.includes('system:masters') ? 'allow' : 'no opinion' }),
}
