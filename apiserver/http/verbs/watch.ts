import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { FieldSelector } from '../../../shared/api/selectors/field-selector.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { badRequest, plainError, resourceVersionTooLarge } from '../../../shared/api/status/status-errors.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { messageOfKind } from '../../protobuf/messages.ts'
import { keyPrefix } from '../../registry/keys.ts'
import { Watch } from '../../watchcache/watch.ts'
import type { WatchCache } from '../../watchcache/watch-cache.ts'
import type { WatchEncoder } from '../../watchcache/watch-sink.ts'
import type { ApiContext } from '../api-context.ts'
import {
  type Negotiated,
  negotiate,
  notInProtobuf,
  streamMedia,
  type Transform,
  unknownShape,
} from '../encode/negotiation.ts'
import { baseHeaders, contentTypes } from '../encode/respond.ts'
import { includeObject } from '../encode/table.ts'
import {
  inProtobuf,
  objectEncoder,
  partialObjectEncoder,
  protobufEvent,
  tableEncoder,
} from '../encode/watch-encoder.ts'
import type { Exchange, ResourceExchange } from '../exchange.ts'
import { type ListOptions, parseListOptions } from '../options/list-options.ts'
import { parseRevision, waitForRevision } from '../options/resource-version.ts'
import { booleanParameter } from '../request-info.ts'
import { acceptWebSocket, asksForWebSocket } from '../streams/accept-websocket.ts'
import { HttpWatchSink } from '../streams/http-watch-sink.ts'
import { WebSocketWatchSink } from '../streams/websocket-watch-sink.ts'

/** A watch without an end of its own gets one between half an hour and an hour, so that clients spread out. */
const minTimeoutSeconds = 1800

export async function watch(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { info } = exchange
  const options = parseListOptions(info.query, definition, booleanParameter(info.query, 'watch'))
  const fields = target.name ? fieldsOfName(target.name, options.fields) : options.fields
  const { encoding, encoder } = chooseEncoder(api, definition, exchange)
  const cache = api.registry.cacheOf(definition)
  const after = startOf(options, cache.revision())
  const tooNew = options.sendInitialEvents && (await refusalOfRevision(api, cache, options.resourceVersion))
  const sink = await openSink(exchange, encoding)
  if (tooNew) return sink.end(tooNew)
  const watch = new Watch(cache, sink, {
    selection: { prefix: keyPrefix(definition, target.namespace), labels: options.labels, fields },
    encoder,
    bookmarks: options.allowWatchBookmarks,
    after,
    withoutInitialBookmark: !options.watch,
  })
  if ((options.timeoutSeconds ?? 0) < 0) return sink.end()
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

/** Waits for the revision that initial events must have. Returns the error that ends the watch if it does not come. */
async function refusalOfRevision(api: ApiContext, cache: WatchCache, text: string): Promise<StatusError | undefined> {
  const revision = Number(text)
  try {
    await waitForRevision(api, cache, revision)
    return undefined
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return resourceVersionTooLarge(revision, cache.revision())
  }
}

/** Returns the selector of a watch of one object. Throws a StatusError (400) if the client selects another object. */
function fieldsOfName(name: string, fields: FieldSelector): FieldSelector {
  if (fields.length === 0) return [{ field: 'metadata.name', equal: true, value: name }]
  const selected = fields.find(({ field, equal }) => field === 'metadata.name' && equal)
  if (selected?.value !== name) throw badRequest("fieldSelector metadata.name doesn't match requested name")
  return fields
}

async function openSink(
  exchange: Exchange,
  encoding: Negotiated['encoding'],
): Promise<HttpWatchSink | WebSocketWatchSink> {
  const { request, upgrade } = exchange
  if (upgrade && asksForWebSocket(exchange)) {
    return new WebSocketWatchSink(await acceptWebSocket(exchange, upgrade), upgrade.socket, request.socket)
  }
  const contentType = encoding === 'protobuf' ? `${contentTypes.protobuf};stream=watch` : contentTypes.json
  const response = exchange.takeOver()
  const warning = exchange.warnings.header()
  response.writeHead(
    200,
    Object.assign(baseHeaders(request), { 'content-type': contentType, ...(warning && { warning }) }),
  )
  response.flushHeaders()
  return new HttpWatchSink(response, request.socket, encoding === 'protobuf' ? protobufEvent : undefined)
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
  { request, info, upgrade }: Exchange,
): { encoding: Negotiated['encoding']; encoder: WatchEncoder<Buffer> } {
  const { transform, encoding } = negotiate(request.headers.accept, true)
  if (encoding === 'yaml') throw unknownShape(streamMedia)
  const lines = jsonEncoder(api, definition, { transform, info })
  // The messages of a WebSocket are text.
  if (encoding === 'json' || upgrade) return { encoding: 'json', encoder: lines }
  if (transform?.kind === 'Table') throw notInProtobuf('*v1.Table')
  const hasForm = transform ?? messageOfKind(apiVersionOf(definition), definition.kind)
  if (!hasForm) throw notInProtobuf('*unstructured.Unstructured')
  return { encoding, encoder: inProtobuf(lines) }
}

function jsonEncoder(
  api: ApiContext,
  definition: ResourceDefinition,
  { transform, info }: { transform?: Transform; info: Exchange['info'] },
): WatchEncoder<Buffer> {
  if (!transform) return objectEncoder(definition)
  // A list of lists makes no sense, and a real server sends nothing rather than say so.
  if (transform.kind === 'PartialObjectMetadataList') return { encode: () => Buffer.alloc(0) }
  if (transform.kind === 'PartialObjectMetadata') return partialObjectEncoder(definition, transform)
  const include = includeObject(info.query)
  return tableEncoder(definition, { version: transform.version, include, now: () => api.clock.now() })
}
