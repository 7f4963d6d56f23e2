/** `/openapi/v2` and `/openapi/v3`. A document is made when it is asked for, and kept until the catalog changes. */

import { toJson } from '../../../shared/api/exact-json.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { baseHeaders, sendAsIs, sendJson, sendNothing } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { type PathHandle, type PathRoutes, reading } from '../front/paths.ts'
import { documentHash, type OpenApiPart, openapiParts, openapiV3, openapiV3Index } from './documents.ts'
import { requestedDocument } from './requested.ts'
import { openapiV2 } from './v2.ts'
import { openapiV2Protobuf, openapiV2ProtobufType, takesOnlyProtobuf } from './v2-protobuf.ts'

export function openapiRoute(catalog: Catalog): PathRoutes {
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

  const document = (exchange: Exchange, path: string) => {
    const part = parts.find((one) => one.path === path)
    if (!part) return sendNothing(exchange, 404)
    if (!requestedDocument(exchange)) return
    const hash = documentHash(part.members)
    const asked = exchange.info.query.get('hash')
    if (asked !== null && asked !== hash) {
      const location = `/openapi/v3/${path}?hash=${hash}`
      return sendNothing(exchange, 301, { 'content-type': 'application/json', location })
    }
    const headers = {
      etag: `"${hash}"`,
      vary: 'Accept',
      'cache-control': asked === null ? 'no-cache, private' : 'public, immutable',
    }
    if (exchange.request.headers['if-none-match'] === headers.etag) return sendNothing(exchange, 304, headers)
    const json = bytesOf(path, () => openapiV3(part))
    sendJson(exchange, { status: 200, json, headers })
  }

  const v2 = (exchange: Exchange) => {
    if (takesOnlyProtobuf(exchange.request.headers.accept)) {
      const headers = { ...baseHeaders(), 'content-type': openapiV2ProtobufType }
      return sendAsIs(exchange, { status: 200, parts: [v2InBytes()], headers })
    }
    if (!requestedDocument(exchange)) return
    const headers = { etag: `"${documentHash(catalog.definitions())}"`, vary: 'Accept' }
    if (exchange.request.headers['if-none-match'] === headers.etag) return sendNothing(exchange, 304, headers)
    sendJson(exchange, { status: 200, json: bytesOf('v2', () => openapiV2(catalog.definitions())), headers })
  }

  const v3 = (exchange: Exchange) => {
    const json = bytesOf('v3', () => openapiV3Index(parts))
    sendJson(exchange, { status: 200, json, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  }

  const upToDate =
    (handle: PathHandle): PathHandle =>
    (exchange, params) => {
      present()
      handle(exchange, params)
    }
  return {
    first: 'openapi',
    methods: reading,
    paths: {
      '/v2': upToDate(v2),
      '/v3': upToDate(v3),
      '/v3/*': upToDate((exchange, { '*': path = '' }) => document(exchange, path.replace(/\/$/, ''))),
    },
  }
}
