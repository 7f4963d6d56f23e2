/** One request as any version of HTTP can carry it. */
export interface PlainRequest {
  method: string
  /** With its query. */
  path: string
  contentType?: string
  body?: string
  /** The body of a success is not wanted. */
  unread?: boolean
}
export interface PlainAnswer {
  status: number
  /** Empty where there is none, as in HTTP/2. */
  statusText: string
  body: string
}
/** Whoever waits for an answer can be told that it will not come. */
export interface Cancellation {
  onCancel?: (error: Error) => void
}
/** Carries requests to one server, and answers back. */
export interface Transport {
  /** Rejects when the connection fails, or with the error of the cancellation. */
  request(request: PlainRequest, cancellation: Cancellation): Promise<PlainAnswer>
  close(): void
}

/** A kept connection was closed by the server just as it was written to. */
export class StaleConnectionError extends Error {
  /** The server has said that it did nothing; otherwise it perhaps has. */
  readonly isUntouched: boolean
  constructor(message: string, options: ErrorOptions & { isUntouched?: boolean } = {}) {
    super(message, options)
    this.isUntouched = options.isUntouched ?? false
  }
}
