import type { IncomingMessage } from 'node:http'
import { badRequest, requestEntityTooLarge } from '../../../shared/api/status/status-errors.ts'
import { readBody as read } from '../../../shared/http/read-body.ts'
import type { LimitName } from '../limits/limits.ts'

/**
 * Reads the whole body. Rejects with a StatusError: 413 for a body of more than `maxBytes` bytes, 400 for a body that
 * breaks off.
 */
export const readBody = (
  request: IncomingMessage,
  maxBytes: number,
  limit: LimitName = 'maxRequestBodyBytes',
  arrived?: (bytes: number) => Error | undefined,
): Promise<Buffer> =>
  read(request, {
    maxBytes,
    tooLarge: () => requestEntityTooLarge(`Request entity too large: limit is ${maxBytes}`).atLimit(limit),
    brokenOff: () => badRequest('unexpected EOF'),
    arrived,
  })
