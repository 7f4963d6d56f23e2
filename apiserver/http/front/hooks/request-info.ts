import type { onRequestHookHandler } from 'fastify'
import { upgradeOf } from '../../../../shared/http/upgrades.ts'
import { Exchange } from '../../exchange.ts'
import type { Watchdog } from '../../limits/watchdog.ts'
import { withReason } from '../../reason-prefix.ts'
import { parseRequestInfo } from '../../request-info.ts'
import { saidMethod } from '../routable.ts'

const hasBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

interface RequestInfoOptions {
  watchdog: Watchdog
  maxBodyBytes: number
  monotonicMs(): number
}

/** What the URL means in Kubernetes' grammar. From here on there is an {@link Exchange}. */
export const requestInfo =
  ({ watchdog, maxBodyBytes, monotonicMs }: RequestInfoOptions): onRequestHookHandler =>
  (request, reply, done) => {
    const { raw, originalUrl } = request
    const method = saidMethod(raw)
    const beganMs = monotonicMs()
    watchdog.begins(raw, beganMs)
    if (hasBody.has(method)) raw.once('end', () => watchdog.begins(raw))
    const info = parseRequestInfo(method, withReason(method, originalUrl))
    request.exchange = new Exchange({ request: raw, reply, info, upgrade: upgradeOf(raw), beganMs, maxBodyBytes })
    done()
  }
