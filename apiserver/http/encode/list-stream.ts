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

/** Bytes of one write, after which the event loop has its turn. */
const batchBytes = 64 * 1024
/** What an item has besides its value. */
const itemOverhead = 40

/**
 * Sends a list cut from what is stored: in one piece if it is small, else in batches as quickly as the client reads.
 */
export function sendList(exchange: Exchange, answer: ListAnswer): void | Promise<void> {
  const { items, negotiated } = answer
  let bytes = 0
  for (const { value } of items) bytes += value.length + itemOverhead
  if (bytes <= batchBytes || negotiated.encoding !== 'json' || wantsPretty(exchange.request)) {
    let json = beginning(answer)
    for (let index = 0; index < items.length; index++) json += element(answer.definition, items[index]!, index)
    return sendJson(exchange, { status: 200, json: `${json}]}` }, negotiated)
  }
  return stream(exchange, answer, bytes)
}

async function stream(exchange: Exchange, answer: ListAnswer, bytes: number): Promise<void> {
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
  let batch = beginning(answer)
  for (let index = 0; index < answer.items.length && !closed; index++) {
    batch += element(answer.definition, answer.items[index]!, index)
    if (batch.length < batchBytes) continue
    if (!out.write(batch)) await once(out, 'drain')
    else await new Promise<void>((resolve) => setImmediate(resolve))
    batch = ''
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

/** Items of a built-in list do not say what they are, those of a custom resource do. */
function element({ itemHead = '{' }: ResourceDefinition, object: CachedObject, index: number): string {
  return (index === 0 ? '' : ',') + spliceHead(itemHead, object)
}
