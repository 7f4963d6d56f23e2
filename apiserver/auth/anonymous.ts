import type { Authenticator, User } from './types.ts'

export const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** The last of the array: whoever brings no credentials at all. */
export const anonymous: Authenticator = { authenticate: () => anonymousUser }
