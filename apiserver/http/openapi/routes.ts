import { createHash } from 'node:crypto'
import { toJson } from '../../../shared/api/json/exact-json.ts'
import type { Aggregation } from '../../aggregation/aggregation.ts'
import { mergeSwagger } from '../../aggregation/openapi-document.ts'
import type { RemoteApi } from '../../aggregation/remote-api.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Forward } from '../aggregation/forward.ts'
import { parseAccept } from '../encode/negotiation.ts'
import { baseHeaders, sendAsIs, sendJson, sendNothing } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, type PathRoutes } from '../routing/paths.ts'
import { documentHash, type OpenApiPart, openapiParts, openapiV3, openapiV3Index } from './documents.ts'
import { openapiV2 } from './v2.ts'
import { openapiV2Protobuf, openapiV2ProtobufType, takesOnlyProtobuf } from './v2-protobuf.ts'

export function openapiRoute(catalog: Catalog, aggregation: Aggregation, forward: Forward): PathRoutes {
  const documents = new OpenApiDocuments(catalog, aggregation, forward)
  return {
    first: 'openapi',
    paths: {
      '/v2': (exchange) => (endsWithSlash(exchange) ? notFound(exchange) : documents.sendV2(exchange)),
      '/v3': (exchange) => (endsWithSlash(exchange) ? sendNothing(exchange, 404) : documents.sendV3Index(exchange)),
      '/v3/*': (exchange, { '*': path = '' }) => documents.sendV3(exchange, path.replace(/\/$/, '')),
    },
  }
}

/** A document is made when it is asked for, and kept until the catalog changes. */
class OpenApiDocuments {
  readonly #catalog: Catalog
  readonly #aggregation: Aggregation
  readonly #forward: Forward
  /** Holds the documents as bytes, which clients that read slowly share. */
  readonly #documents = new Map<string, Buffer>()
  #generation = -1
  #v2Protobuf: Buffer | undefined
  #parts: OpenApiPart[] = []

  constructor(catalog: Catalog, aggregation: Aggregation, forward: Forward) {
    this.#catalog = catalog
    this.#aggregation = aggregation
    this.#forward = forward
  }

  sendV2(exchange: Exchange) {
    this.#refresh()
    if (takesOnlyProtobuf(exchange.request.headers.accept)) {
      const headers = { ...baseHeaders(), 'content-type': openapiV2ProtobufType }
      return sendAsIs(exchange, { status: 200, parts: [this.#v2InBytes()], headers })
    }
    if (!requestedDocument(exchange)) return
    const headers = { etag: `"${this.#v2Hash()}"`, vary: 'Accept' }
    if (exchange.request.headers['if-none-match'] === headers.etag) return sendNothing(exchange, 304, headers)
    sendJson(exchange, { status: 200, json: this.#v2(), headers })
  }

  sendV3Index(exchange: Exchange) {
    this.#refresh()
    const json = this.#bytesOf('v3', () => this.#v3Index())
    sendJson(exchange, { status: 200, json, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  }

  /** `path`: of a group version, or of discovery. */
  sendV3(exchange: Exchange, path: string) {
    this.#refresh()
    const part = this.#parts.find((one) => one.path === path)
    if (!part) {
      const owner = this.#aggregation.isEmpty ? undefined : this.#ownerOf(path)
      return owner ? this.#forward(exchange, owner) : sendNothing(exchange, 404)
    }
    if (!requestedDocument(exchange)) return
    const hash = documentHash(part.members)
    const asked = exchange.info.query.get('hash')
    if (asked && asked !== hash) {
      const location = `/openapi/v3/${path}?hash=${hash}`
      return sendNothing(exchange, 301, { 'content-type': 'application/json', location })
    }
    const headers = {
      etag: `"${hash}"`,
      vary: 'Accept',
      'cache-control': !asked ? 'no-cache, private' : 'public, immutable',
    }
    if (exchange.request.headers['if-none-match'] === headers.etag) return sendNothing(exchange, 304, headers)
    const json = this.#bytesOf(path, () => openapiV3(part))
    sendJson(exchange, { status: 200, json, headers })
  }

  #refresh(): void {
    // Both only rise.
    const generation = this.#catalog.generation + this.#aggregation.generation
    if (this.#generation === generation) return
    this.#documents.clear()
    this.#v2Protobuf = undefined
    this.#parts = openapiParts(this.#catalog.definitions())
    this.#generation = generation
  }

  #v2(): Buffer {
    return this.#bytesOf('v2', () => {
      const document = openapiV2(this.#catalog.definitions())
      for (const { openapiV2: part } of this.#aggregation.served()) if (part) mergeSwagger(document, part)
      return document
    })
  }

  #v2Hash(): string {
    const own = documentHash(this.#catalog.definitions())
    const others = this.#aggregation.isEmpty ? [] : this.#aggregation.served().map((one) => one.openapiV2)
    return others.length === 0
      ? own
      : createHash('sha512')
          .update(own + JSON.stringify(others))
          .digest('hex')
          .toUpperCase()
  }

  /** Documents of this server stand before those of others. */
  #v3Index(): object {
    const own = openapiV3Index(this.#parts)
    const others = this.#aggregation.served().map((one) => one.openapiV3)
    return { paths: Object.assign({}, ...others, own.paths) as object }
  }

  #ownerOf(path: string): RemoteApi | undefined {
    return this.#aggregation.served().find(({ openapiV3 }) => Object.hasOwn(openapiV3, path))
  }

  #v2InBytes(): Buffer {
    this.#v2Protobuf ??= openapiV2Protobuf(JSON.parse(this.#v2().toString()) as object)
    return this.#v2Protobuf
  }

  #bytesOf(name: string, make: () => object): Buffer {
    const known = this.#documents.get(name)
    if (known) return known
    const made = Buffer.from(toJson(make()))
    this.#documents.set(name, made)
    return made
  }
}

const json = new Set(['*/*', 'application/*', 'application/json'])

/** Documents are JSON; a client that accepts only other types gets a 406 without a body. */
function requestedDocument(exchange: Exchange): boolean {
  const { accept } = exchange.request.headers
  if (!accept || parseAccept(accept).some(({ type }) => json.has(type))) return true
  sendNothing(exchange, 406)
  return false
}
