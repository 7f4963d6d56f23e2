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
  /** Of one check of an object against the schema of its custom resource: values, each counted for each schema. */
  schemaSteps: 1_000_000,
  /** Of what the defaults of a schema may add to one object: as much as a request may hold. */
  defaultBytes: 3 * 1024 * 1024,
  /** Fields whose owners are kept: for an object of as many, a real server's store has no room either. */
  managedFields: 50_000,
  /** Of an object as it is stored, with its managedFields: three times what a request may hold. */
  objectBytes: 9 * 1024 * 1024,
  /** Of all causes of a Status, and of its message. */
  statusCauseBytes: 256 * 1024,
}
