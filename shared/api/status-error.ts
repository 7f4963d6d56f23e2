import type { Status, StatusCause } from './types.ts'

/**
 * A failure in Kubernetes' own shape: thrown on both sides of the wire, rendered by the server, parsed by the client.
 */
export class StatusError extends Error {
  readonly status: Status
  /** Headers the answer must carry, e.g. Retry-After. */
  readonly headers: Record<string, string>
  /** The limit of the server that was reached; counted and logged where the request is answered. */
  limit: string | undefined
  constructor(
    status: Omit<Status, 'kind' | 'apiVersion' | 'metadata' | 'status'> & { code: number; message: string },
    headers: Record<string, string> = {},
  ) {
    super(status.message)
    this.name = 'StatusError'
    this.status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status }
    this.headers = headers
  }
  atLimit(name: string | undefined): this {
    this.limit = name
    return this
  }
  get code(): number {
    return this.status.code ?? 500
  }
  get reason(): string | undefined {
    return this.status.reason
  }
}

export type { Status, StatusCause }
export const isStatus = (error: unknown, reason: string): error is StatusError =>
  error instanceof StatusError && error.reason === reason

/** Returns a handler for `.catch()` that resolves failures for these reasons to undefined and rethrows all others. */
export const ignoring =
  (...reasons: string[]) =>
  (error: unknown): undefined => {
    if (!reasons.some((reason) => isStatus(error, reason))) throw error
  }

/** For `.catch()`: there is no such object, or no more. */
export const ignoreNotFound = ignoring('NotFound')
