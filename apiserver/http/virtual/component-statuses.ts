import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import { sendJson } from '../encode/respond.ts'
import { includeObject } from '../encode/table.ts'
import type { Handler } from '../handler.ts'
import { parseListOptions } from '../options/list-options.ts'
import { transformedList } from '../verbs/list.ts'

/** What a control plane consists of. Here it is one process: if it answers, all of it is well. */
const components = ['scheduler', 'controller-manager', 'etcd-0']

const statusOf = (name: string): KubeObject => ({
  metadata: { name },
  conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
})

export const listComponentStatuses: Handler = (api, { exchange, definition }) => {
  const { request, info } = exchange
  const negotiated = negotiate(request.headers.accept, true)
  parseListOptions(info.query, definition, false)
  const items = components.map(statusOf)
  const { transform } = negotiated
  const options = { metadata: {}, include: includeObject(info.query), nowMs: api.clock.now() }
  const body = transform
    ? transformedList(definition, items, transform, options)
    : { kind: `${definition.kind}List`, apiVersion: definition.version, metadata: {}, items }
  sendJson(exchange, { status: 200, json: JSON.stringify(body) }, negotiated)
}

export const getComponentStatus: Handler = (api, { exchange, definition, target }) => {
  const { name = '' } = target
  const negotiated = negotiate(exchange.request.headers.accept, false)
  if (!components.includes(name)) throw notFound(definition, name)
  const stored = { value: JSON.stringify(statusOf(name)), revision: undefined }
  const { query } = exchange.info
  const json = encodeForClient(definition, stored, { negotiated, query, nowMs: api.clock.now() })
  sendJson(exchange, { status: 200, json }, negotiated)
}
