import { unauthorized } from './chain.ts'
import type { Authenticator } from './types.ts'

/** No token is known yet, so every bearer token is a bad one: 401, even where anybody may look. An empty one counts as none. */
export const bearerToken: Authenticator = {
  authenticate({ headers }) {
    const token = /^bearer +(\S+)/i.exec(headers.authorization ?? '')?.[1]
    if (token) throw unauthorized()
    return undefined
  },
}
