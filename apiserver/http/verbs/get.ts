import { plainError } from '../../../shared/api/status-errors.ts'
import type { ApiContext } from '../api-context.ts'
import type { ResourceExchange } from '../exchange.ts'
import { negotiate } from '../negotiation.ts'
import { encodeForClient } from '../object-encoder.ts'
import { parseRevision, waitForRevision } from '../resource-version.ts'
import { sendJson } from '../respond.ts'

export async function get(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { request, info, user } = exchange
  const negotiated = negotiate(request.headers.accept, false)
  const text = info.query.get('resourceVersion')
  if (text) {
    const revision = parseRevision(text, (why) => plainError(`resourceVersion: ${why}`))
    await waitForRevision(api, api.registry.cacheOf(definition), revision)
  }
  const { namespace, name = '' } = target
  const stored = api.registry.get({ definition, namespace, name, user, asOf: exchange.asOf })
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, nowMs: api.clock.now() })
  sendJson(exchange, { status: 200, json }, negotiated)
}
