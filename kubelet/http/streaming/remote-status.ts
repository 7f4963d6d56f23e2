import type { Status } from '../../../shared/api/types.ts'

/** Describes a status as it is sent: without kind and version. */
export type RemoteStatus = Omit<Status, 'kind' | 'apiVersion'>

export const success: RemoteStatus = { metadata: {}, status: 'Success' }

export const exitStatus = (code: number): RemoteStatus =>
  code === 0
    ? success
    : {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: exit status ${code}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      }

export const internalFailure = (message: string): RemoteStatus => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${message}`,
  reason: 'InternalError',
  details: { causes: [{ message }] },
  code: 500,
})

/**
 * Encodes the status of a stream. Since version 4 the client gets the whole status; older versions get the plain text
 * of a failure.
 */
export function encodeStatus(status: RemoteStatus, version: number): string {
  if (version >= 4) return JSON.stringify(status)
  return status.status === 'Success' ? '' : (status.message ?? '')
}
