import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { shownParts } from '../../registry/stored-object.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import type { Exchange } from '../exchange.ts'
import { type Elements, formOf, type ListForm, partsOf } from './list-forms.ts'
import type { Negotiated } from './negotiation.ts'
import {
  acceptsGzip,
  baseHeaders,
  bytesOf,
  contentTypes,
  fastGzip,
  gzipThreshold,
  sendJson,
  wantsPretty,
} from './respond.ts'

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

/** Bytes, read or written, after which the event loop has its turn. */
const batchBytes = 64 * 1024
/** An item has this much besides its value. */
const itemOverhead = 40

/** Sends a list cut from what is stored. */
export function sendList(exchange: Exchange, answer: ListAnswer): void | Promise<void> {
  const { items, definition, negotiated } = answer
  // Items of a built-in list do not say what they are, those of a custom resource do.
  const { itemHead = '{' } = definition
  const element = (item: CachedObject): string[] => shownParts(itemHead, item)
  return sendElements(exchange, { begin: beginning(answer), items, element }, negotiated)
}

/** In one piece if it is small, else in batches as quickly as the client reads. */
export function sendElements(exchange: Exchange, elements: Elements, negotiated: Negotiated): void | Promise<void> {
  const { begin, items } = elements
  let bytes = 0
  for (const { length } of items) bytes += length + itemOverhead
  if (bytes > batchBytes && !exchange.audit?.wantsResponse)
    return new ListStream(exchange, elements).send(negotiated, bytes)
  const json = [begin]
  for (let index = 0; index < items.length; index++) json.push(...partsOf(elements, index, index === 0 ? '' : ','))
  json.push(']}')
  return sendJson(exchange, { status: 200, json }, negotiated)
}

/** A list that is being sent. */
class ListStream {
  readonly #exchange: Exchange
  readonly #elements: Elements
  #hasLeft = false

  constructor(exchange: Exchange, elements: Elements) {
    this.#exchange = exchange
    this.#elements = elements
    exchange.onClose(() => {
      this.#hasLeft = true
    })
  }

  async send({ encoding }: Negotiated, bytes: number): Promise<void> {
    const { request } = this.#exchange
    const pretty = wantsPretty(request)
    const form = await formOf(this.#elements, { encoding, pretty }, (step) => this.#each(step))
    if (!form) return
    const response = this.#exchange.takeOver()
    const compressed = bytes >= gzipThreshold && acceptsGzip(request)
    response.writeHead(200, {
      ...baseHeaders(request),
      'content-type': contentTypes[encoding],
      ...(compressed && { 'content-encoding': 'gzip', vary: 'Accept-Encoding' }),
    })
    let out: Writable = response
    if (compressed) {
      out = fastGzip()
      out.pipe(response)
    }
    response.once('close', () => {
      this.#hasLeft = true
      // Ends a write that waits for room in the pipe: the client has left.
      out.emit('drain')
    })
    await this.#write(out, form)
  }

  async #write(out: Writable, { begin, piece, end }: ListForm): Promise<void> {
    let batch = [begin]
    let written = 0
    const complete = await this.#each(
      (index) => {
        const next = piece(index)
        for (const part of typeof next === 'string' || Buffer.isBuffer(next) ? [next] : next) {
          batch.push(part)
          written += part.length
        }
      },
      () => {
        if (written < batchBytes) return
        const isTaken = this.#put(out, batch)
        batch = []
        written = 0
        return isTaken ? undefined : once(out, 'drain')
      },
      () => written >= batchBytes,
    )
    if (!complete) return
    this.#put(out, [...batch, end])
    out.end()
  }

  /**
   * HTTP/2 frames parts as they are. HTTP/1.1 would make a chunk of each, and gzip a piece of work. Returns false where
   * the next parts must wait for `drain`.
   */
  #put(out: Writable, parts: readonly (string | Buffer)[]): boolean {
    if (out !== this.#exchange.response || this.#exchange.request.httpVersionMajor === 1)
      return out.write(joined(parts))
    let isTaken = true
    for (const part of parts) isTaken = out.write(part)
    return isTaken
  }

  /**
   * A step for each element. After each so many bytes that it reads, or when it `isDue`, others have their turn, and
   * `rest` is waited for. False: the client has left.
   */
  async #each(
    step: (index: number) => void,
    rest?: () => Promise<unknown> | undefined,
    isDue = () => false,
  ): Promise<boolean> {
    const { items } = this.#elements
    let read = 0
    for (let index = 0; index < items.length; index++) {
      if (this.#hasLeft) return false
      step(index)
      read += items[index]!.length
      if (read < batchBytes && !isDue()) continue
      read = 0
      await (rest?.() ?? new Promise<void>((resolve) => setImmediate(resolve)))
    }
    return !this.#hasLeft
  }
}

const joined = (parts: readonly (string | Buffer)[]): string | Buffer =>
  parts.some((part) => typeof part !== 'string') ? Buffer.concat(parts.map(bytesOf)) : parts.join('')

function beginning({
  definition: { group, version, kind, listKind = `${kind}List`, itemHead },
  metadata,
}: ListAnswer): string {
  // Custom resources are encoded without omitting what is empty.
  if (itemHead !== undefined) metadata.continue ??= ''
  return `{"kind":"${listKind}","apiVersion":"${apiVersionOf({ group, version })}","metadata":${JSON.stringify(metadata)},"items":[`
}
