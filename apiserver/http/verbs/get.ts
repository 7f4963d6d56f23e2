import type { ApiContext } from '../api-context.ts'
import { negotiateObject } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import { sendJson } from '../encode/respond.ts'
import type { ResourceExchange } from '../exchange.ts'
import { seeRevision } from '../options/resource-version.ts'

export async function get(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { request, info, user } = exchange
  const negotiated = negotiateObject(request.headers.accept, target)
  const waiting = seeRevision(api, api.registry.cacheOf(definition), info.query)
  if (waiting) await waiting
  const { namespace, name = '' } = target
  const stored = api.registry.get({ definition, namespace, name, user, asOf: exchange.asOf })
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, nowMs: api.clock.now() })
  sendJson(exchange, { status: 200, json }, negotiated)
}
