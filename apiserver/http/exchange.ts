import type { IncomingMessage, ServerResponse } from 'node:http'
import type { User } from '../auth/types.ts'
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import type { RequestInfo, ResourceTarget } from './request-info.ts'
import { Warnings } from './warnings.ts'

/** One request and its answer. HTTP/2 streams come in the same clothes. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly info: RequestInfo
  readonly user: User
  readonly warnings = new Warnings()

  constructor(request: IncomingMessage, response: ServerResponse, info: RequestInfo, user: User) {
    this.request = request
    this.response = response
    this.info = info
    this.user = user
  }

  /** Runs when the client has gone or the answer is complete. */
  onClose(callback: () => void): void {
    this.response.once('close', callback)
  }
}

/** A request on a resource that is served. */
export interface ResourceExchange {
  exchange: Exchange
  definition: ResourceDefinition
  target: ResourceTarget
}
