import type { Status, StatusCause } from '../types.ts'

/** Carries a failure as a metav1.Status. The server renders it; the client parses it from an answer. */
export class StatusError extends Error {
  /** Holds the metav1.Status, with its message, reason and details. */
  readonly status: Status
  /** Holds the headers that the answer must carry, such as Retry-After. */
  readonly headers: Record<string, string>
  /** @internal Names the limit of the server that was reached. The request's end counts and logs it. */
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
  /** @internal Notes the limit that was reached, and returns the error. */
  atLimit(name: string | undefined): this {
    this.limit = name
    return this
  }
  /** Returns the HTTP status code. */
  get code(): number {
    return this.status.code ?? 500
  }
  /** Returns the reason: `NotFound`, `AlreadyExists`, `Conflict` … */
  get reason(): string | undefined {
    return this.status.reason
  }
}

export type { Status, StatusCause }
/** Returns whether an error is a StatusError with this reason: `isStatus(error, 'NotFound')`. */
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
