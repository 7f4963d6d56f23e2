import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ApiContext } from '../api-context.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import { sendJson } from '../encode/respond.ts'
import { includeObject } from '../encode/table.ts'
import type { ResourceExchange } from '../exchange.ts'
import { transformedList } from '../verbs/list.ts'

/** Sends objects that are not stored as a list, or as the Table that the client prefers. */
export function sendVirtualList(
  api: ApiContext,
  { exchange, definition }: ResourceExchange,
  items: readonly KubeObject[],
): void {
  const { request, info } = exchange
  const negotiated = negotiate(request.headers.accept, true)
  const { transform } = negotiated
  const options = { metadata: {}, include: includeObject(info.query), nowMs: api.clock.now() }
  const body = transform
    ? transformedList(definition, [...items], transform, options)
    : { kind: `${definition.kind}List`, apiVersion: apiVersionOf(definition), metadata: {}, items }
  sendJson(exchange, { status: 200, json: JSON.stringify(body) }, negotiated)
}

export function sendVirtual(api: ApiContext, { exchange, definition }: ResourceExchange, object: KubeObject): void {
  const negotiated = negotiate(exchange.request.headers.accept, false)
  const stored = { value: JSON.stringify(object), revision: undefined }
  const { query } = exchange.info
  const json = encodeForClient(definition, stored, { negotiated, query, clock: api.clock })
  sendJson(exchange, { status: 200, json }, negotiated)
}
