/**
 * Bounds of the work for one request, as the last server that was started in this process has them: what checks an
 * object is pure functions, which know no server.
 */
export const workLimits = {
  /**
   * What one evaluation of a CEL expression may cost, in upstream's units: its PerCallLimit.
   */
  celSteps: 1_000_000,
  /** Objects and lists of a body, and members of either. */
  bodyValues: 100_000,
  /** Of all causes of a Status: as much as a request may hold. */
  statusCauseBytes: 3 * 1024 * 1024,
}
