/**
 * The one file in which the API server meets what stands beside it: the page, the record, and other servers. Each is
 * loaded by the first who asks, and gets what it needs of the server from here.
 */
import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { badRequest } from '../shared/api/status/status-errors.ts'
import type { InjectedAnswer, InjectedRequest } from '../shared/http/injected-request.ts'
import type { ApiServerConfig } from './config.ts'
import type { ApiContext } from './http/api-context.ts'
import { readBody } from './http/body/body.ts'
import { headOf } from './http/encode/object-encoder.ts'
import { baseHeaders } from './http/encode/respond.ts'
import type { PageHandles, RecordHandles } from './http/instruments/routes.ts'
import type { RecordFeed } from './record/record-feed.ts'
import { spliceHead } from './registry/stored-object.ts'
import type { Actor } from './ui/sessions.ts'
import type { UiSite } from './ui/site.ts'
import type { WatchCache } from './watchcache/index.ts'

export type { RecordFeed } from './record/record-feed.ts'
export type SeveralServers = typeof import('./several-servers/index.ts')

/** Resolves to what a server needs besides where other servers have the same objects. */
export const severalServers = (): Promise<SeveralServers> => import('./several-servers/index.ts')

const maxAddedBytes = 1024 * 1024
const maxTitle = 200

/** Makes the record and the page of one API server when they are asked for. */
export class Satellites {
  readonly #api: ApiContext
  readonly #config: Pick<ApiServerConfig, 'tls' | 'host'>
  #feed: Promise<RecordFeed> | undefined
  #site: Promise<UiSite> | undefined

  constructor(api: ApiContext, config: Pick<ApiServerConfig, 'tls' | 'host'>) {
    this.#api = api
    this.#config = config
  }

  /** Resolves to what happens in this server, as lines of a record. */
  feed(): Promise<RecordFeed> {
    this.#feed ??= this.#makeFeed()
    return this.#feed
  }

  readonly record: RecordHandles = {
    follow: async (exchange) => {
      const { query } = exchange.info
      if (query.get('watch') !== 'true') throw badRequest('a record has no end: ask with ?watch=true')
      const feed = await this.feed()
      feed.checkRoom()
      const response = exchange.takeOver()
      response.writeHead(200, { ...baseHeaders(exchange.request), 'content-type': 'application/x-ndjson' })
      response.flushHeaders()
      const history = query.get('history') === 'true'
      feed.follow(response, (query.get('title') ?? 'a cluster').slice(0, maxTitle), { history })
    },
    add: async ({ request }) => {
      const text = (await readBody(request, maxAddedBytes)).toString('utf8')
      return { added: (await this.feed()).addText(text) }
    },
  }

  readonly page: PageHandles = {
    link: async ({ request, user }) => {
      const site = await this.#page()
      return site.linkFor({ name: user.name, groups: [...user.groups] }, bodyOf(request))
    },
    serve: async (exchange) => {
      const { request, reply } = exchange
      const { method, url = '', headers } = request
      const act = async (actor: Actor, wanted: InjectedRequest): Promise<InjectedAnswer> => {
        const { inject } = await import('./http/plugins/inject.ts')
        return inject(reply.server, actor, wanted)
      }
      const site = await this.#page()
      await site.serve({ method, url, headers, body: bodyOf(request), act }, exchange.takeOver())
    },
  }

  async #makeFeed(): Promise<RecordFeed> {
    const { RecordFeed } = await import('./record/record-feed.ts')
    const { clock, instruments } = this.#api
    return new RecordFeed({
      clock,
      journal: instruments.journal,
      cachesOf: (names) => cachesOf(this.#api, names),
      textOf({ definition }) {
        const head = headOf(definition)
        return (object, revision) => spliceHead(head, object, revision)
      },
    })
  }

  #page(): Promise<UiSite> {
    this.#site ??= this.#makePage()
    return this.#site
  }

  async #makePage(): Promise<UiSite> {
    const { UiSite } = await import('./ui/site.ts')
    const { tls, host } = this.#config
    const certificate = new X509Certificate(tls.cert)
    const feed = await this.feed()
    return new UiSite({
      clock: this.#api.clock.machine,
      isSecure: true,
      isOwnName: (name) =>
        (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name, { wildcards: false })) !== undefined,
      checkRoom: () => feed.checkRoom(),
      stream: (response) => feed.follow(response, `https://${host}`, { history: true }),
      source: 'server',
    })
  }
}

/** Names are plural and group, such as `deployments.apps`. Events are those of the core group, with the same objects. */
function cachesOf({ catalog, registry }: ApiContext, names: readonly string[]): WatchCache[] {
  const byName = new Map(
    catalog.definitions().map((one) => [one.group ? `${one.plural}.${one.group}` : one.plural, one]),
  )
  return names.flatMap((name) => byName.get(name) ?? []).map((definition) => registry.cacheOf(definition))
}

const bodyOf =
  (request: IncomingMessage) =>
  async (maxBytes: number): Promise<string> =>
    (await readBody(request, maxBytes)).toString('utf8')
