/** Holds the limits beyond which a result is bad. */
export interface Thresholds {
  /** Part of the grace period that a hook, or a whole stop, may use, in percent. */
  maxGraceUsed: number
  /** Limits the milliseconds from the first failed liveness probe to the end of the container. */
  maxLivenessDowntime: number
  /** Requests lost or cut while a pod ends. */
  maxLostRequests: number
  allowedExitCodes: readonly number[]
}
