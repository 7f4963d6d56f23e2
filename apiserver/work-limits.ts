/**
 * Bounds of the work for one request, as the last server that was started in this process has them: what checks an
 * object is pure functions, which know no server.
 */
export const workLimits = {
  /**
   * Items that macros of a CEL expression may visit in one evaluation; a real server's limit of cost is the same
   * number.
   */
  celSteps: 1_000_000,
  /** Of all causes of a Status: as much as a request may hold. */
  statusCauseBytes: 3 * 1024 * 1024,
}
