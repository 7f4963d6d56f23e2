import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { KubeObject } from '../../shared/api/types.ts'
import { takeOver } from '../../shared/http/take-over.ts'
import type { Upgrade } from '../../shared/http/upgrades.ts'
import type { AuditedRequest } from '../audit/event.ts'
import type { Attributes } from '../auth/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import type { WorkLimits } from '../work-limits.ts'
import type { Bodies } from './body/bodies.ts'
import { Warnings } from './encode/warnings.ts'
import type { RequestInfo, ResourceTarget } from './request-info.ts'

interface ExchangeParts {
  request: IncomingMessage
  reply: FastifyReply
  info: RequestInfo
  upgrade?: Upgrade
  /** Holds a time of the machine's monotonic clock. */
  beganMs: number
  bodies: Bodies
  limits: WorkLimits
}

/**
 * An exchange is one request and its answer, as the handlers of Kubernetes' API see it. It hides whether the client
 * speaks HTTP/1.1 or HTTP/2.
 */
export class Exchange {
  readonly request: IncomingMessage
  readonly reply: FastifyReply
  readonly info: RequestInfo
  readonly upgrade: Upgrade | undefined
  readonly beganMs: number
  readonly warnings = new Warnings()
  readonly limits: WorkLimits
  readonly #bodies: Bodies
  /** The user of the request: the impersonated one, if there is one. Known after the hook of authentication. */
  user!: User
  /** The user that has authenticated. */
  asker!: User
  /** Holds what authorization decides about. The hook of authentication sets it. */
  attributes!: Attributes
  /** Holds the revision that a get or a list shows; undefined for the present. */
  asOf: number | undefined
  /** Records the request; undefined where it is not recorded. */
  audit: AuditedRequest | undefined
  /** Holds the object of a create, whose name is not in the path. */
  created: KubeObject | undefined
  /** True after the handler has been called. */
  hasBegun = false
  /** True after hooks of `onSend` have been called. Only servers with plugins set it. */
  isSending = false
  #whenServed: (() => void) | undefined

  constructor({ request, reply, info, upgrade, beganMs, bodies, limits }: ExchangeParts) {
    this.#bodies = bodies
    this.limits = limits
    this.request = request
    this.reply = reply
    this.info = info
    this.upgrade = upgrade
    this.beganMs = beganMs
  }

  /** Returns Node's side of the answer. A caller that writes to it directly calls `takeOver` first. */
  get response(): ServerResponse {
    return this.reply.raw
  }

  /** Does the same as {@link takeOver}. */
  takeOver(): ServerResponse {
    return takeOver(this.reply)
  }

  /**
   * Resolves to the whole body. Rejects with a StatusError: 413 for more than the server takes, 400 for a body that
   * breaks off.
   */
  body(): Promise<Buffer> {
    return this.#bodies.read(this)
  }

  /** As {@link body}, for what no client has much to say about. */
  smallBody(): Promise<Buffer> {
    return this.#bodies.readSmall(this)
  }

  /** Returns whether the client has left, so that no answer is needed. */
  hasLeft(): boolean {
    return this.reply.raw.destroyed || this.upgrade?.socket.destroyed === true
  }

  /** Runs when the client has gone or the answer is complete. */
  onClose(callback: () => void): void {
    this.reply.raw.on('close', callback)
  }

  /** The handler is done, or the request was refused. */
  served(): void {
    const callback = this.#whenServed
    this.#whenServed = undefined
    callback?.()
    this.audit?.served(this.response.statusCode)
  }

  /**
   * Runs once when the handler is done, or the request was refused: for code that counts requests under way. A method,
   * since V8 allocates a function that is assigned to a property in its old generation, and with it all that it keeps.
   */
  whenServed(callback: () => void): void {
    this.#whenServed = callback
  }
}

/** A request on a resource that is served. */
export interface ResourceExchange {
  exchange: Exchange
  definition: ResourceDefinition
  target: ResourceTarget
}
