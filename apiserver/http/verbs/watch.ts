import { plainError } from '../../../shared/api/status-errors.ts'
import { keyPrefix } from '../../registry/keys.ts'
import type { ResourceDefinition } from '../../registry/resource-definition.ts'
import { Watch } from '../../watchcache/watch.ts'
import type { WatchEncoder } from '../../watchcache/watch-sink.ts'
import type { ApiContext } from '../api-context.ts'
import type { Exchange, ResourceExchange } from '../exchange.ts'
import { HttpWatchSink } from '../http-watch-sink.ts'
import { type ListOptions, parseListOptions } from '../list-options.ts'
import { negotiate, unknownShape } from '../negotiation.ts'
import { parseRevision } from '../resource-version.ts'
import { baseHeaders } from '../respond.ts'
import { includeObject } from '../table.ts'
import { objectEncoder, partialObjectEncoder, tableEncoder } from '../watch-encoder.ts'
import { acceptWebSocket, type WebSocketWatchSink } from '../websocket-watch-sink.ts'

/** A watch without an end of its own gets one between half an hour and an hour, so that clients spread out. */
const minTimeoutSeconds = 1800

export async function watch(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { info } = exchange
  const options = parseListOptions(info.query, definition, true)
  const encoder = chooseEncoder(api, definition, exchange)
  const after = startOf(options, api.registry.cacheOf(definition).revision())
  const sink = await openSink(exchange)
  const fields = target.name ? [{ field: 'metadata.name', equal: true, value: target.name }] : options.fields
  const watch = new Watch(api.registry.cacheOf(definition), sink, {
    selection: { prefix: keyPrefix(definition, target.namespace), labels: options.labels, fields },
    encoder,
    bookmarks: options.allowWatchBookmarks,
    after,
  })
  const seconds = options.timeoutSeconds || minTimeoutSeconds * (1 + api.registry.random())
  const timer = api.clock.machine.setTimer(
    seconds * 1000,
    () => {
      watch.stop()
      sink.end()
    },
    { background: true },
  )
  sink.onClose(() => {
    timer.cancel()
    watch.stop()
  })
  await watch.run()
}

async function openSink(exchange: Exchange): Promise<HttpWatchSink | WebSocketWatchSink> {
  const { request, response, upgrade } = exchange
  if (upgrade && /^websocket$/i.test(request.headers.upgrade ?? '')) return acceptWebSocket(exchange, upgrade)
  response.writeHead(200, { ...baseHeaders(request), 'content-type': 'application/json' })
  response.flushHeaders()
  return new HttpWatchSink(response)
}

/** `current`: the revision that a watch without initial events and without a resourceVersion starts after. */
export function startOf({ resourceVersion, sendInitialEvents }: ListOptions, current: number): number | 'now' {
  if (resourceVersion === '') return sendInitialEvents === false ? current : 'now'
  const revision = parseRevision(resourceVersion, (why) => plainError(`resourceVersion: ${why}`))
  if (sendInitialEvents) return 'now'
  if (revision === 0) return sendInitialEvents === false ? current : 'now'
  return revision
}

function chooseEncoder(
  api: ApiContext,
  definition: ResourceDefinition,
  { request, info }: Exchange,
): WatchEncoder<Buffer> {
  const { transform, encoding } = negotiate(request.headers.accept, true)
  if (encoding === 'yaml') throw unknownShape()
  if (!transform) return objectEncoder(definition)
  // A list of lists makes no sense, and a real server sends nothing rather than say so.
  if (transform.kind === 'PartialObjectMetadataList') return { encode: () => Buffer.alloc(0) }
  if (transform.kind === 'PartialObjectMetadata') return partialObjectEncoder(transform)
  const include = includeObject(info.query)
  return tableEncoder(definition, { version: transform.version, include, now: () => api.clock.now() })
}
