import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { ApiContext } from '../api-context.ts'
import { readNewObject } from '../body/request-object.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { parseWriteOptions } from '../options/write-options.ts'

export async function create(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const negotiated = negotiate(request.headers.accept, false)
  const options = parseWriteOptions(exchange, 'CreateOptions')
  const bytes = await exchange.body()
  const raw = { bytes, contentType: request.headers['content-type'] }
  const { object, isComplete } = await readNewObject(definition, raw, options)
  exchange.created = object
  const scope = { definition, namespace: target.namespace, user }
  definition.strategy.applyDefaults?.(object, api.registry.strategyContext(scope))
  isComplete?.()
  exchange.audit?.requested({ kind: definition.kind, apiVersion: apiVersionOf(definition) }, object)
  const stored = await api.registry.create(scope, object, options)
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  return { status: 201, json, negotiated }
}
