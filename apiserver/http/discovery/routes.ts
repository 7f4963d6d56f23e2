/** `/api` and `/apis` with what is below them that is no resource. Documents are made once per state of the catalog. */
import { createHash } from 'node:crypto'
import { methodNotAllowed, resourceNotFound } from '../../../shared/api/status/status-errors.ts'
import type { Aggregation } from '../../aggregation/aggregation.ts'
import type { Catalog } from '../../registry/catalog.ts'
import {
  assertAcceptable,
  encodingFor,
  isAcceptable,
  type MediaRange,
  type Negotiated,
  parseAccept,
  unknownShape,
} from '../encode/negotiation.ts'
import { sendJson, sendNothing } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, onlyGet, type PathRoutes } from '../routing/paths.ts'
import {
  aggregatedDiscovery,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Discovered,
} from './documents.ts'

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const DISCOVERY_GROUP = 'apidiscovery.k8s.io'

/** Documents by name, until what is served changes. */
class Documents {
  readonly #catalog: Catalog
  readonly #aggregation: Aggregation
  #generation = -1
  #texts = new Map<string, { json: string; etag: string }>()
  constructor(catalog: Catalog, aggregation: Aggregation) {
    this.#catalog = catalog
    this.#aggregation = aggregation
  }
  get(name: string, make: (discovered: Discovered) => object): { json: string; etag: string } {
    // Both only rise.
    const generation = this.#catalog.generation + this.#aggregation.generation
    if (this.#generation !== generation) {
      this.#texts = new Map()
      this.#generation = generation
    }
    let text = this.#texts.get(name)
    if (!text) {
      const discovered = { definitions: this.#catalog.definitions(), remote: this.#aggregation.served() }
      const json = JSON.stringify(make(discovered))
      text = { json, etag: `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"` }
      this.#texts.set(name, text)
    }
    return text
  }
}

/** Returns whether the client wants the aggregated form: the first known shape in its Accept header decides. */
function wantsAggregated(accept: string | undefined, which: 'core' | 'named'): boolean {
  if (!accept) return false
  const ranges = rangesOf(accept, which)
  if (
    ranges.some(({ parameters: { g, v, as } }) => g === DISCOVERY_GROUP && v === 'v2' && as === 'APIGroupDiscoveryList')
  ) {
    return true
  }
  if (ranges.every(({ parameters }) => parameters.as !== undefined)) throw unknownShape()
  return false
}

/** Upstream's router refuses media types below `/api` and below a group version, the handler itself elsewhere. */
function rangesOf(accept: string, which: 'core' | 'named'): MediaRange[] {
  const ranges = parseAccept(accept)
  if (which === 'core') assertAcceptable(ranges, false)
  else if (!ranges.some(({ type }) => type === 'application/*' || isAcceptable(type))) throw unknownShape()
  return ranges
}

/** Returns the encoding of a document that has one shape. Throws for clients that accept other shapes only. */
function plainForm(accept: string | undefined, which: 'core' | 'named'): Negotiated {
  if (!accept) return { encoding: 'json' }
  const ranges = rangesOf(accept, which)
  const plain = ranges.filter(({ parameters: { as } }) => as === undefined)
  if (plain.length === 0) throw unknownShape()
  return { encoding: encodingFor(plain) }
}

export function discoveryRoutes(catalog: Catalog, aggregation: Aggregation, serverAddress: () => string): PathRoutes[] {
  const documents = new Documents(catalog, aggregation)
  const aggregated = (exchange: Exchange, which: 'core' | 'named'): boolean => {
    if (!wantsAggregated(exchange.request.headers.accept, which)) return false
    const { json, etag } = documents.get(`aggregated ${which}`, (discovered) => aggregatedDiscovery(discovered, which))
    const headers = { etag, vary: 'Accept', 'cache-control': 'public', 'content-type': AGGREGATED }
    if (exchange.request.headers['if-none-match'] === etag) {
      sendNothing(exchange, 304, headers)
    } else sendJson(exchange, { status: 200, json, headers })
    return true
  }
  const legacy = (
    exchange: Exchange,
    name: string,
    make: (discovered: Discovered) => object,
    which: 'core' | 'named' = 'core',
  ): void =>
    sendJson(
      exchange,
      { status: 200, json: documents.get(name, make).json },
      plainForm(exchange.request.headers.accept, which),
    )
  const resourceList = (exchange: Exchange, group: string, version: string) => {
    if (catalog.hasVersion(group, version)) {
      if (exchange.info.method !== 'GET') throw methodNotAllowed()
      return legacy(exchange, `list ${group}/${version}`, (discovered) => apiResourceList(discovered, group, version))
    }
    if (catalog.hasBuiltInGroup(group)) throw resourceNotFound()
    notFound(exchange)
  }
  return [
    {
      first: 'api',
      paths: {
        '': onlyGet(
          (exchange) =>
            aggregated(exchange, 'core') ||
            legacy(exchange, `versions ${serverAddress()}`, () => apiVersions(serverAddress())),
        ),
        '/:version': (exchange, { version = '' }) => resourceList(exchange, '', version),
      },
    },
    {
      first: 'apis',
      paths: {
        // The path with a slash has no aggregated form.
        '': (exchange) =>
          (!endsWithSlash(exchange) && aggregated(exchange, 'named')) ||
          legacy(exchange, 'groups', apiGroupList, 'named'),
        '/:group': (exchange, { group = '' }) => {
          if (group === '' || !(catalog.hasGroup(group) || aggregation.hasGroup(group))) return notFound(exchange)
          legacy(exchange, `group ${group}`, (discovered) => apiGroup(discovered, group), 'named')
        },
        '/:group/:version': (exchange, { group = '', version = '' }) => resourceList(exchange, group, version),
      },
    },
  ]
}
