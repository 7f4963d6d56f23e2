import type { PathClient } from '../controllers/controller.ts'
import { StatusError } from '../shared/api/status/status-error.ts'
import type { Status } from '../shared/api/types.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'

/** Asks the API server of this process by path, through all that a request goes through. */
export function injectedPaths(inject: (request: InjectedRequest) => Promise<InjectedAnswer>): PathClient {
  const ask = async (request: InjectedRequest): Promise<unknown> => {
    const answer = await inject(request)
    if (answer.statusCode >= 400) throw errorOf(answer)
    return answer.json()
  }
  return {
    get: (url) => ask({ url }),
    put: (url, payload) => ask({ method: 'PUT', url, payload }),
  }
}

/** A fault may answer with anything. */
function errorOf({ statusCode, body }: InjectedAnswer): StatusError {
  try {
    const { kind, message, reason, details } = JSON.parse(body) as Status
    if (kind === 'Status') return new StatusError({ code: statusCode, message: message ?? '', reason, details })
  } catch {}
  return new StatusError({ code: statusCode, message: body })
}
