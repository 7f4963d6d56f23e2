/** `/openapi/v2` and `/openapi/v3`. A document is made when it is asked for, and kept until the catalog changes. */

import { toJson } from '../../shared/api/exact-json.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Exchange } from './exchange.ts'
import { documentHash, type OpenApiPart, openapiParts, openapiV3, openapiV3Index } from './openapi-documents.ts'
import { requestedDocument } from './openapi-requested.ts'
import { openapiV2 } from './openapi-v2.ts'
import { openapiV2Protobuf, openapiV2ProtobufType, takesOnlyProtobuf } from './openapi-v2-protobuf.ts'
import type { PathRoute } from './path-routes.ts'
import { baseHeaders, sendJson, sendNothing } from './respond.ts'

export function openapiRoute(catalog: Catalog): PathRoute {
  let generation = -1
  /** As bytes: clients that read slowly share them. */
  let documents = new Map<string, Buffer>()
  let v2Protobuf: Buffer | undefined
  let parts: OpenApiPart[] = []
  const present = (): void => {
    if (generation === catalog.generation) return
    documents = new Map()
    v2Protobuf = undefined
    parts = openapiParts(catalog.definitions())
    generation = catalog.generation
  }
  const bytesOf = (name: string, make: () => object): Buffer => {
    let json = documents.get(name)
    if (json === undefined) {
      json = Buffer.from(toJson(make()))
      documents.set(name, json)
    }
    return json
  }

  const v2InBytes = (): Buffer => {
    const json = bytesOf('v2', () => openapiV2(catalog.definitions()))
    v2Protobuf ??= openapiV2Protobuf(JSON.parse(json.toString()) as object)
    return v2Protobuf
  }

  const document = (exchange: Exchange, path: string): boolean => {
    const part = parts.find((one) => one.path === path)
    if (!part) {
      sendNothing(exchange, 404)
      return true
    }
    if (!requestedDocument(exchange)) return true
    const hash = documentHash(part.members)
    const asked = exchange.info.query.get('hash')
    if (asked !== null && asked !== hash) {
      exchange.response
        .writeHead(301, { 'content-type': 'application/json', location: `/openapi/v3/${path}?hash=${hash}` })
        .end()
      return true
    }
    const headers = {
      etag: `"${hash}"`,
      vary: 'Accept',
      'cache-control': asked === null ? 'no-cache, private' : 'public, immutable',
    }
    if (exchange.request.headers['if-none-match'] === headers.etag) {
      exchange.response.writeHead(304, headers).end()
      return true
    }
    const json = bytesOf(path, () => openapiV3(part))
    sendJson(exchange, { status: 200, json, headers })
    return true
  }

  return {
    first: 'openapi',
    methods: ['GET', 'HEAD'],
    handle(exchange, [, format, ...rest]) {
      present()
      if (format === 'v2' && rest.length === 0) {
        if (takesOnlyProtobuf(exchange.request.headers.accept)) {
          const body = v2InBytes()
          const headers = { ...baseHeaders(), 'content-type': openapiV2ProtobufType, 'content-length': body.length }
          exchange.response.writeHead(200, headers).end(exchange.request.method === 'HEAD' ? undefined : body)
          return true
        }
        if (!requestedDocument(exchange)) return true
        const headers = { etag: `"${documentHash(catalog.definitions())}"`, vary: 'Accept' }
        if (exchange.request.headers['if-none-match'] === headers.etag) {
          exchange.response.writeHead(304, headers).end()
        } else sendJson(exchange, { status: 200, json: bytesOf('v2', () => openapiV2(catalog.definitions())), headers })
        return true
      }
      if (format !== 'v3') return false
      if (rest.length > 0) return document(exchange, rest.join('/'))
      const json = bytesOf('v3', () => openapiV3Index(parts))
      sendJson(exchange, { status: 200, json, headers: { 'content-type': 'text/plain; charset=utf-8' } })
      return true
    },
  }
}
