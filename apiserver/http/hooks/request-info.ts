import type { FastifyReply, FastifyRequest } from 'fastify'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import type { WorkLimits } from '../../work-limits.ts'
import type { Bodies } from '../body/bodies.ts'
import { Exchange } from '../exchange.ts'
import type { Watchdog } from '../limits/watchdog.ts'
import { withReason } from '../reason-prefix.ts'
import { parseRequestInfo } from '../request-info.ts'
import { saidMethod } from '../routable.ts'

const hasBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

interface RequestInfoOptions {
  watchdog: Watchdog
  bodies: Bodies
  limits: WorkLimits
  monotonicMs(): number
}

/** Parses the URL in Kubernetes' grammar and makes the request's {@link Exchange}, which all later steps need. */
export const requestInfo =
  ({ watchdog, bodies, limits, monotonicMs }: RequestInfoOptions) =>
  (request: FastifyRequest, reply: FastifyReply): Exchange => {
    const { raw, originalUrl } = request
    const method = saidMethod(raw)
    const beganMs = monotonicMs()
    watchdog.begins(raw, beganMs)
    if (hasBody.has(method)) raw.once('end', () => watchdog.begins(raw))
    const info = parseRequestInfo(method, withReason(method, originalUrl))
    const exchange = new Exchange({ request: raw, reply, info, upgrade: upgradeOf(raw), beganMs, bodies, limits })
    request.exchange = exchange
    return exchange
  }
