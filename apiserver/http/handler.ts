import type { ApiContext } from './api-context.ts'
import type { ResourceExchange } from './exchange.ts'

/** Answers a request on a resource. What it throws (a StatusError where it is the client's fault) is answered by whoever called it. */
export type Handler = (api: ApiContext, exchange: ResourceExchange) => void | Promise<void>
