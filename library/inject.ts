import { nearest } from '../shared/config/nearest.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'
import type { ClusterUser } from './users.ts'

/** Describes a request for `inject`. */
export interface InjectOptions extends InjectedRequest {
  /** Names the user of the request. Without it the cluster's administrator asks. */
  user?: ClusterUser
}

/** Answers one request without a network, through all hooks. Rejects requests that do not end, such as a watch. */
export type Inject = (request: InjectOptions) => Promise<InjectedAnswer>

type InjectAs = (request: InjectedRequest, user?: Required<ClusterUser>) => Promise<InjectedAnswer>

const known = ['method', 'url', 'user', 'headers', 'payload']

/** Returns the function. A request that waits when `closing` aborts is rejected with the reason of `closing`. */
export function createInject(inject: InjectAs, closing: AbortSignal): Inject {
  return async (options) => {
    check(options)
    closing.throwIfAborted()
    const { user, ...request } = options
    const { promise: closed, reject } = Promise.withResolvers<never>()
    const close = (): void => reject(closing.reason)
    closing.addEventListener('abort', close)
    try {
      return await Promise.race([inject(request, user && { groups: [], ...user }), closed])
    } finally {
      closing.removeEventListener('abort', close)
    }
  }
}

/** Checks the options at run time, for callers without a type checker. */
function check(options: InjectOptions): void {
  const { url, method = 'GET', user } = options
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    throw new Error(`inject has no option ${name}; ${near ? `did you mean ${near}?` : `there are ${known.join(', ')}`}`)
  }
  if (typeof url !== 'string' || !url.startsWith('/'))
    throw new Error(`inject: url must be a path such as /api/v1/pods, not ${JSON.stringify(url)}`)
  if (typeof method !== 'string' || !/^[a-z]+$/i.test(method))
    throw new Error(`inject: method must be a method of HTTP, not ${JSON.stringify(method)}`)
  if (user !== undefined && (typeof user?.name !== 'string' || user.name === ''))
    throw new Error(`inject: user must be a map with a name, not ${JSON.stringify(user)}`)
}
