/** The status codes that callers here tell apart. */
export const grpcCodes = {
  canceled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const

/** A call that did not succeed: what the server answered, or why there is no answer. */
export class GrpcError extends Error {
  readonly code: number
  /** True if the request may have reached the server, and so may have been carried out. */
  readonly wasSent: boolean

  constructor(code: number, message: string, { wasSent, cause }: { wasSent: boolean; cause?: unknown }) {
    super(message, { cause })
    this.code = code
    this.wasSent = wasSent
  }
}

/** Holds the names as Go prints them, by number. */
const names =
  'OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated'.split(
    ' ',
  )
export const codeName = (code: number): string => names[code] ?? `Code(${code})`
