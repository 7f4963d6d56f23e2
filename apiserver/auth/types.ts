import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { User } from '../kind/user.ts'

/** Holds the parts of a request that authenticators may read. */
export interface Credentials {
  headers: IncomingHttpHeaders
  /**
   * Holds the connection, the same object for each of its requests. Over TLS (for HTTP/2 on the session's socket) it
   * has the client's certificate.
   */
  socket: Socket
}

export interface Authenticator {
  /**
   * `undefined` when the request carries none of the credentials that this one knows: the next is asked.
   * Throws a StatusError (401) when it carries one that is bad: the request ends here.
   */
  authenticate(credentials: Credentials): User | undefined
}

/** Describes what the user wants to do, in upstream's words. */
export interface Attributes {
  user: User
  /**
   * `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the method in lower case for a
   * path that is no resource.
   */
  verb: string
  /** Holds the path of the request without its query. */
  path: string
  /** `undefined` for a path that is no resource, such as /healthz. */
  resource?: RequestedResource
}

export interface RequestedResource {
  group: string
  /** Names the resource in the plural. */
  resource: string
  subresource?: string
  namespace?: string
  name?: string
  /** Holds the raw query parameter of a list, watch or deletecollection. */
  fieldSelector?: string
  /** Holds the other one. */
  labelSelector?: string
}

export type Verdict = 'allow' | 'deny' | 'no opinion'

export interface Decision {
  verdict: Verdict
  /** Appended to the 403's message. */
  reason?: string
}

export interface Authorizer {
  /**
   * Asked in order until one allows or denies; when none does, the request is refused. A promise only where something
   * must be looked up.
   */
  authorize(attributes: Attributes): Decision | Promise<Decision>
}
