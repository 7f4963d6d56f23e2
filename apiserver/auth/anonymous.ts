import type { User } from '../kind/user.ts'
import type { Authenticator } from './types.ts'

export const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Authenticates clients without any credentials as the anonymous user; must be the last authenticator. */
export const anonymous: Authenticator = { authenticate: () => anonymousUser }
