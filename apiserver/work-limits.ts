/**
 * WorkLimits bound the work for one request. Each server has its own, which its registry holds: functions that decode
 * or check an object take what they need of them as arguments.
 */
export interface WorkLimits {
  /** Limits the cost of one evaluation of a CEL expression, in upstream's units: its PerCallLimit. */
  readonly celSteps: number
  /** Objects and lists of a body, and members of either. */
  readonly bodyValues: number
  /** Values of an object that are checked against the schema of its custom resource, each counted for each schema. */
  readonly schemaSteps: number
  /** Bytes of an object as it is stored, with its managedFields: three times what a request may hold. */
  readonly objectBytes: number
  /** Limits the bytes of all causes of a Status. Its message may have twice as many characters. */
  readonly causeBytes: number
}

export const defaultWorkLimits: WorkLimits = Object.freeze({
  celSteps: 1_000_000,
  bodyValues: 100_000,
  schemaSteps: 1_000_000,
  objectBytes: 9 * 1024 * 1024,
  causeBytes: 256 * 1024,
})
