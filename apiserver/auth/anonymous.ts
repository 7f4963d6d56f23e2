import type { User } from '../kind/user.ts'
import type { Authenticator } from './types.ts'

export const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** The last authenticator: clients without any credentials. */
export const anonymous: Authenticator = { authenticate: () => anonymousUser }
