import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { badRequest, internalError, requestEntityTooLarge } from '../../shared/api/status/status-errors.ts'
import type { Logger } from '../../shared/log/log.ts'
import { StorageFullError, StorageUnavailableError, ValueTooLargeError } from '../storage/storage.ts'
import { boundedStatus } from './encode/bounded-status.ts'
import { errorEncoding } from './encode/negotiation.ts'
import { sendJson, sendWithoutHooks } from './encode/respond.ts'
import type { Exchange } from './exchange.ts'
import { reasonsByCode } from './instruments/reasons-by-code.ts'
import type { ClientLimits } from './limits/client-limits.ts'
import type { LimitName } from './limits/limits.ts'

interface ErrorHandlerOptions {
  log: Logger
  reports: ClientLimits
  /** The most that the causes of an answer may have together. */
  maxCauseBytes: number
}

type Failed = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/**
 * Creates the handler that turns errors of hooks and handlers into a `metav1.Status`. It logs only errors that are not
 * the client's fault.
 */
export function createErrorHandler({ log, reports, maxCauseBytes }: ErrorHandlerOptions): Failed {
  const answer = (
    { status, headers, code }: StatusError,
    { raw }: FastifyRequest,
    exchange: Exchange | null,
    reply: FastifyReply,
  ): void => {
    const refusal = { status: code, json: JSON.stringify(boundedStatus(status, maxCauseBytes)), headers }
    if (exchange?.isSending) sendWithoutHooks({ request: raw, reply }, refusal)
    // What a user was warned of belongs to a refusal as well.
    else if (exchange?.user) sendJson(exchange, refusal, errorEncoding(raw.headers.accept))
    else sendJson({ request: raw, reply, audit: exchange?.audit }, refusal)
  }
  return (error, request, reply) => {
    const exchange = request.exchange as Exchange | null
    const { method, url, socket } = request.raw
    const known = knownError(error)
    if (!known) log.error({ err: error, method, url }, 'request failed')
    if (known?.limit) reports.reached(known.limit as LimitName, socket, { user: exchange?.asker?.name })
    if (reply.sent || reply.raw.headersSent) {
      if (known) log.debug({ err: error, method, url }, 'an answer was cut off')
      reply.raw.destroy()
    } else {
      try {
        answer(known ?? internalError(error instanceof Error ? error.message : String(error)), request, exchange, reply)
      } catch (another) {
        log.error({ err: another, method, url }, 'no answer could be given')
        reply.raw.destroy()
      }
    }
    exchange?.served()
  }
}

/** Errors that are no bug of the server, and get no line in the log: on a full disk each write would be one. */
function knownError(error: unknown): StatusError | undefined {
  if (error instanceof StatusError) return error
  if (error instanceof StorageFullError || error instanceof StorageUnavailableError) return internalError(error.message)
  if (error instanceof ValueTooLargeError) return requestEntityTooLarge(error.message)
  if (isTooDeep(error)) return badRequest('json: exceeded max depth')
  if (!(error instanceof Error)) return undefined
  return ofAnotherCopy(error as StatusError) ?? withStatusCode(error as FastifyError)
}

/** Every walk over a body is recursive: one that is nested too deeply for any ends here, and is the client's fault. */
const isTooDeep = (error: unknown): boolean =>
  error instanceof RangeError && error.message === 'Maximum call stack size exceeded'

const reasons: Readonly<Record<number, string>> = {
  ...reasonsByCode,
  415: 'UnsupportedMediaType',
}

/**
 * Returns the error that a plugin sets by Fastify's convention of `statusCode`, or by which Fastify refuses a request
 * of a plugin's route.
 */
function withStatusCode({ code, statusCode, message = '' }: Partial<FastifyError>): StatusError | undefined {
  if (statusCode === undefined || !(statusCode >= 400 && statusCode <= 599)) return undefined
  // A mistake in how Fastify is used.
  if (statusCode >= 500 && String(code).startsWith('FST_')) return undefined
  return new StatusError({ code: statusCode, reason: reasons[statusCode], message })
}

/** Returns the error of another copy of this program: a plugin of a file has one by `import 'kubestage'`. */
function ofAnotherCopy({ name, status, headers }: Partial<StatusError>): StatusError | undefined {
  if (name !== 'StatusError' || status?.code === undefined || status.message === undefined) return undefined
  return new StatusError({ ...status, code: status.code, message: status.message }, headers)
}
