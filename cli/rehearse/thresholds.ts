/** From where on something is bad. */
export interface Thresholds {
  /** Percent of the grace that a hook, or all of a stop, may need. */
  maxGraceUsed: number
  /** Milliseconds from the first failed liveness probe to the end of the container. */
  maxLivenessDowntime: number
  /** Requests lost or cut while a pod ends. */
  maxLostRequests: number
  allowedExitCodes: readonly number[]
}
