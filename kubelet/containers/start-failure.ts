/** A container that could not be started: the waiting reason and message of its status. */
export class StartFailure extends Error {
  readonly reason: string
  /** Trying earlier is useless. Undefined: try with the next sync. */
  readonly retryAtMs: number | undefined
  constructor({ reason, message, retryAtMs }: { reason: string; message: string; retryAtMs?: number }) {
    super(message)
    this.reason = reason
    this.retryAtMs = retryAtMs
  }
}
