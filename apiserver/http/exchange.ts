import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { KubeObject } from '../../shared/api/types.ts'
import type { User } from '../auth/types.ts'
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import { readBody } from './body.ts'
import type { RequestInfo, ResourceTarget } from './request-info.ts'
import { Warnings } from './warnings.ts'

/** A connection that its client wants for itself (HTTP/1.1 only): whoever takes it over answers in its own words. */
export interface Upgrade {
  socket: Duplex
  /** What came after the request. */
  head: Buffer
}

/** One request and its answer. HTTP/2 streams come in the same clothes. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly info: RequestInfo
  readonly user: User
  readonly upgrade: Upgrade | undefined
  readonly warnings = new Warnings()
  readonly #maxBodyBytes: number
  /** The revision that a get or a list shows. Default: the present. */
  asOf: number | undefined
  /** What is to be created, whose name is not in the path. */
  created: KubeObject | undefined

  constructor(
    { request, response, upgrade }: { request: IncomingMessage; response: ServerResponse; upgrade?: Upgrade },
    info: RequestInfo,
    user: User,
    maxBodyBytes: number,
  ) {
    this.#maxBodyBytes = maxBodyBytes
    this.request = request
    this.response = response
    this.info = info
    this.user = user
    this.upgrade = upgrade
  }

  /** The whole body. Rejects with a StatusError: 413 for more than the server takes, 400 for one that breaks off. */
  body(): Promise<Buffer> {
    return readBody(this.request, this.#maxBodyBytes)
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
