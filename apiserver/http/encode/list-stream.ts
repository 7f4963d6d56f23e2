import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { spliceHead } from '../../registry/stored-object.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import type { Exchange } from '../exchange.ts'
import type { Negotiated } from './negotiation.ts'
import { acceptsGzip, baseHeaders, fastGzip, gzipThreshold, sendJson, wantsPretty } from './respond.ts'

export interface ListMetadata {
  resourceVersion: string
  continue?: string
  remainingItemCount?: number
}

export interface ListAnswer {
  definition: ResourceDefinition
  items: readonly CachedObject[]
  metadata: ListMetadata
  negotiated: Negotiated
}

/** A list in JSON, of which the elements are made when they are sent. */
export interface Elements {
  /** Ends where the first element follows. */
  begin: string
  items: readonly CachedObject[]
  element(item: CachedObject): string
}

/** Bytes, read or written, after which the event loop has its turn. */
const batchBytes = 64 * 1024
/** What an item has besides its value. */
const itemOverhead = 40

/** Sends a list cut from what is stored. */
export function sendList(exchange: Exchange, answer: ListAnswer): void | Promise<void> {
  const { items, definition, negotiated } = answer
  // Items of a built-in list do not say what they are, those of a custom resource do.
  const { itemHead = '{' } = definition
  const element = (item: CachedObject): string => spliceHead(itemHead, item)
  return sendElements(exchange, { begin: beginning(answer), items, element }, negotiated)
}

/** In one piece if it is small, else in batches as quickly as the client reads. */
export function sendElements(exchange: Exchange, elements: Elements, negotiated: Negotiated): void | Promise<void> {
  const { begin, items, element } = elements
  let bytes = 0
  for (const { value } of items) bytes += value.length + itemOverhead
  if (bytes <= batchBytes || negotiated.encoding !== 'json' || wantsPretty(exchange.request)) {
    let json = begin
    for (let index = 0; index < items.length; index++) json += (index === 0 ? '' : ',') + element(items[index]!)
    return sendJson(exchange, { status: 200, json: `${json}]}` }, negotiated)
  }
  return stream(exchange, elements, bytes)
}

async function stream(exchange: Exchange, { begin, items, element }: Elements, bytes: number): Promise<void> {
  const { request } = exchange
  const response = exchange.takeOver()
  const compressed = bytes >= gzipThreshold && acceptsGzip(request)
  response.writeHead(200, {
    ...baseHeaders(request),
    'content-type': 'application/json',
    ...(compressed && { 'content-encoding': 'gzip', vary: 'Accept-Encoding' }),
  })
  let out: Writable = response
  if (compressed) {
    out = fastGzip()
    out.pipe(response)
  }
  let closed = false
  response.once('close', () => {
    closed = true
    // Ends a write that waits for room in the pipe: the client has left.
    out.emit('drain')
  })
  let batch = begin
  let read = 0
  for (let index = 0; index < items.length && !closed; index++) {
    const item = items[index]!
    batch += (index === 0 ? '' : ',') + element(item)
    read += item.value.length
    if (batch.length < batchBytes && read < batchBytes) continue
    read = 0
    if (batch.length >= batchBytes) {
      if (!out.write(batch)) await once(out, 'drain')
      batch = ''
    }
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  if (!closed) out.end(`${batch}]}\n`)
}

function beginning({
  definition: { group, version, kind, listKind = `${kind}List`, itemHead },
  metadata,
}: ListAnswer): string {
  // Custom resources are encoded without omitting what is empty.
  if (itemHead !== undefined) metadata.continue ??= ''
  return `{"kind":"${listKind}","apiVersion":"${apiVersionOf({ group, version })}","metadata":${JSON.stringify(metadata)},"items":[`
}
