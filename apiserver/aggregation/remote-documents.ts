import type { Clock } from '../../shared/clock/clock.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { User } from '../kind/user.ts'
import { type DiscoveredVersion, readAggregated, readLegacy } from './discovery-document.ts'
import { type OpenApiPaths, readOpenApiV2, readOpenApiV3Index, type SwaggerPart } from './openapi-document.ts'
import type { RemoteApi } from './remote-api.ts'
import type { RemoteClient } from './remote-client.ts'

interface DocumentsOptions {
  client: RemoteClient
  clock: Clock
  log: Logger
  find(name: string): RemoteApi | undefined
  /** Runs when another server has said something new. */
  changed(): void
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const discoverer: User = { name: 'system:kube-aggregator', groups: ['system:masters'] }
const reader: User = { name: 'system:aggregator', groups: [] }
/** Upstream's limits. */
const discoveryTimeoutMs = 5000
const openapiTimeoutMs = 60_000
const refreshMs = 60_000
const retry = { initialMs: 500, maxMs: refreshMs }
const workers = 2
/** Upstream reads without a limit. */
const maxDiscoveryBytes = 4 * 1024 * 1024
const maxOpenApiBytes = 16 * 1024 * 1024

/** Holds what the server of one APIService has said. */
export interface RemoteDocument extends DiscoveredVersion {
  /** Maps paths of /openapi/v3 to what the server's index says about them. */
  openapiV3: OpenApiPaths
  openapiV2: SwaggerPart | undefined
  openapiV2Etag: string
}

/** Reads discovery and OpenAPI of the servers of APIServices, again every minute. */
export class RemoteDocuments {
  readonly #options: DocumentsOptions
  readonly #queue: WorkQueue<string>
  readonly #documents = new Map<string, RemoteDocument>()

  constructor(options: DocumentsOptions) {
    const { clock, log } = options
    this.#options = options
    this.#queue = new WorkQueue<string>({
      clock: clock.machine,
      concurrency: workers,
      retry,
      work: (name) => this.#sync(name),
      onError: (error, name) => log.debug({ err: error, apiService: name }, 'documents could not be read'),
    })
  }

  /** Reads again what the server of an APIService says, soon. */
  read(name: string): void {
    this.#queue.add(name)
  }

  forget(name: string): void {
    this.#documents.delete(name)
  }

  /** Returns what the server has said; before its first answer it has no resources. */
  get(name: string): RemoteDocument {
    return this.#documents.get(name) ?? nothing
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  async #sync(name: string): Promise<void> {
    const api = this.#options.find(name)
    if (!api) return
    const before = this.get(name)
    const discovered = await this.#discover(api).catch((error: Error) => error)
    const found: RemoteDocument = {
      ...before,
      ...(discovered instanceof Error ? { freshness: 'Stale' } : { resources: discovered, freshness: 'Current' }),
    }
    this.#keep(name, found)
    if (discovered instanceof Error) throw discovered
    if (api.isAvailable) await this.#readOpenApi(api, found)
    this.#queue.addAfter(name, refreshMs)
  }

  #keep(name: string, found: RemoteDocument): void {
    if (this.#options.find(name) === undefined) return
    const before = this.get(name)
    this.#documents.set(name, found)
    if (JSON.stringify(before) !== JSON.stringify(found)) this.#options.changed()
  }

  async #discover(api: RemoteApi): Promise<object[]> {
    const { client } = this.#options
    const asked = { user: discoverer, timeoutMs: discoveryTimeoutMs, maxBytes: maxDiscoveryBytes }
    const id = `${api.group}/${api.version}`
    const whole = await client.read(api, { ...asked, path: '/apis', headers: { accept: aggregated } })
    if (whole.code === 503) throw new Error('the server is not available')
    if (whole.code === 200 && /;\s*as=APIGroupDiscoveryList/.test(String(whole.headers['content-type'])))
      return readAggregated(whole.body).get(id) ?? []
    const path = `/apis/${id}`
    const legacy = await client.read(api, { ...asked, path, headers: { accept: 'application/json' } })
    if (legacy.code !== 200) throw new Error(`failed to download legacy discovery for ${path}: ${legacy.code}`)
    return readLegacy(legacy.body, api).get(id) ?? []
  }

  async #readOpenApi(api: RemoteApi, found: RemoteDocument): Promise<void> {
    const { client, log } = this.#options
    const asked = { user: reader, timeoutMs: openapiTimeoutMs, maxBytes: maxOpenApiBytes }
    const document = { ...found }
    try {
      const headers: Record<string, string> = { accept: 'application/json' }
      const index = await client.read(api, { ...asked, path: '/openapi/v3', headers })
      if (index.code === 200) document.openapiV3 = readOpenApiV3Index(index.body)
      if (found.openapiV2Etag !== '') headers['if-none-match'] = found.openapiV2Etag
      const swagger = await client.read(api, { ...asked, path: '/openapi/v2', headers })
      if (swagger.code === 200) {
        document.openapiV2 = readOpenApiV2(swagger.body, `/apis/${api.group}/${api.version}/`)
        document.openapiV2Etag = String(swagger.headers.etag ?? '')
      }
    } catch (error) {
      log.debug({ err: error, apiService: api.name }, 'OpenAPI could not be read')
    }
    this.#keep(api.name, document)
  }
}

const nothing: RemoteDocument = {
  resources: [],
  freshness: 'Stale',
  openapiV3: {},
  openapiV2: undefined,
  openapiV2Etag: '',
}
