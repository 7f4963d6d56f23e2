import type { ApiContext } from '../api-context.ts'
import { type Negotiated, negotiateObject } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import { sendJson } from '../encode/respond.ts'
import type { ResourceExchange } from '../exchange.ts'
import { seeRevision } from '../options/resource-version.ts'

/** Answers in the same turn of the event loop, unless the client asks for a revision that is still to come. */
export function get(api: ApiContext, resource: ResourceExchange): void | Promise<void> {
  const { exchange, definition, target } = resource
  const negotiated = negotiateObject(exchange.request.headers.accept, target)
  const waiting = seeRevision(api, api.registry.cacheOf(definition), exchange.info)
  return waiting ? waiting.then(() => answer(api, resource, negotiated)) : answer(api, resource, negotiated)
}

function answer(api: ApiContext, { exchange, definition, target }: ResourceExchange, negotiated: Negotiated): void {
  const { info, user, asOf } = exchange
  const { namespace, name = '' } = target
  const stored = api.registry.get({ definition, namespace, name, user, asOf })
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  sendJson(exchange, { status: 200, json }, negotiated)
}
