import { toJson } from '../../../shared/api/json/exact-json.ts'
import { badRequest, expired, notAcceptable } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { keyPrefix } from '../../registry/keys.ts'
import { decodeStored } from '../../registry/stored-object.ts'
import { CompactedError } from '../../storage/storage.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import { type Selection, selectsAll } from '../../watchcache/selection.ts'
import type { CachedList, WatchCache } from '../../watchcache/watch-cache.ts'
import type { ApiContext } from '../api-context.ts'
import type { Elements } from '../encode/list-forms.ts'
import { type ListMetadata, sendElements, sendList } from '../encode/list-stream.ts'
import { type Negotiated, negotiate, type Transform } from '../encode/negotiation.ts'
import { goType } from '../encode/object-encoder.ts'
import { partialObjectMetadata } from '../encode/partial-object-metadata.ts'
import { sendJson } from '../encode/respond.ts'
import { type IncludeObject, includeObject, rowOf, tableOf } from '../encode/table.ts'
import type { Exchange, ResourceExchange } from '../exchange.ts'
import { decodeContinue, encodeContinue } from '../options/continue-token.ts'
import { type ListOptions, parseListOptions } from '../options/list-options.ts'
import { parseRevision, waitForRevision } from '../options/resource-version.ts'

export async function list(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<void> {
  const { request, info } = exchange
  const negotiated = negotiate(request.headers.accept, true)
  const options = parseListOptions(info.query, definition, false)
  const page = await readPage(api, api.registry.cacheOf(definition), {
    options,
    selection: {
      prefix: keyPrefix(definition, target.namespace),
      labels: options.labels,
      fields: options.fields,
    },
    asOf: exchange.asOf,
  })
  return sendPage(api, exchange, { definition, page, negotiated })
}

/** Sends the list in the form that the client wants. Throws a StatusError (406) for a form that lists do not have. */
export function sendPage(
  api: ApiContext,
  exchange: Exchange,
  { definition, page, negotiated }: { definition: ResourceDefinition; page: Page; negotiated: Negotiated },
): void | Promise<void> {
  const { transform } = negotiated
  if (!transform) return sendList(exchange, { definition, ...page, negotiated })
  if (transform.kind === 'PartialObjectMetadata') {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${definition.custom ? 'unstructured.Unstructured' : goType(definition)}List)`,
    )
  }
  const include = transform.kind === 'Table' ? includeObject(exchange.info.query) : 'None'
  const shown = { metadata: page.metadata, include, nowMs: api.clock.now() }
  if (page.items.length === 0) {
    const json = toJson(transformedList(definition, [], transform, shown))
    return sendJson(exchange, { status: 200, json }, negotiated)
  }
  return sendElements(exchange, transformedElements(definition, page.items, transform, shown), negotiated)
}

interface Shown {
  metadata: Partial<ListMetadata>
  include: IncludeObject
  nowMs: number
}

/** A list as a Table, or with the metadata alone, of which each element is made when it is sent. */
function transformedElements(
  definition: ResourceDefinition,
  items: readonly CachedObject[],
  { kind, version }: Transform,
  { metadata, include, nowMs }: Shown,
): Elements {
  const isTable = kind === 'Table'
  const empty = isTable
    ? tableOf(definition, [], { version, include, nowMs, metadata: { ...metadata } })
    : { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata, items: [] }
  return {
    begin: toJson(empty).slice(0, -']}'.length),
    items,
    element(item) {
      const object = decodeStored(item)
      return toJson(
        isTable
          ? rowOf(definition, object, { version, include, nowMs })
          : partialObjectMetadata(object, version, definition),
      )
    },
  }
}

/** Returns a list as a Table, or with the metadata of its objects alone. */
export function transformedList(
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  { kind, version }: Transform,
  { metadata, include, nowMs }: Shown,
): object {
  if (kind === 'Table') {
    const table = tableOf(definition, objects, { version, include, metadata: { ...metadata }, nowMs })
    // As Go shows a list that nothing was added to: upstream's default converter makes none before.
    return definition.columns || objects.length > 0 ? table : { ...table, rows: null }
  }
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    // As Go shows a list that nothing was added to.
    items: objects.length > 0 ? objects.map((object) => partialObjectMetadata(object, version, definition)) : null,
  }
}

export interface Page {
  items: CachedObject[]
  metadata: ListMetadata
}

/**
 * Reads the page that a list request asks for: at its revision, from its start, up to its limit. Throws a StatusError
 * (410) for a revision that is compacted.
 */
export async function readPage(
  api: ApiContext,
  cache: WatchCache,
  { options, selection, asOf }: { options: ListOptions; selection: Selection; asOf?: number },
): Promise<Page> {
  if (options.continue !== '') return continued(api, cache, { options, selection })
  const { resourceVersion, resourceVersionMatch, limit } = options
  if (asOf !== undefined) return pageOf(cache.list(selection, { revision: asOf, limit }), selection)
  if (resourceVersion === '') return pageOf(cache.list(selection, { limit }), selection)
  const asked = parseRevision(resourceVersion, (why) => badRequest(`invalid resource version: resourceVersion: ${why}`))
  // A request that accepts any state gets a complete list.
  if (asked === 0) return pageOf(cache.list(selection), selection)
  await waitForRevision(api, cache, asked)
  const exact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0)
  if (!exact) return pageOf(cache.list(selection, { limit }), selection)
  try {
    api.compaction.check(asked)
    return pageOf(cache.list(selection, { revision: asked, limit }), selection)
  } catch (error) {
    if (error instanceof CompactedError) throw expired('The resourceVersion for the provided list is too old.')
    throw error
  }
}

function continued(
  { compaction }: ApiContext,
  cache: WatchCache,
  { options, selection }: { options: ListOptions; selection: Selection },
): Page {
  const { limit } = options
  const { revision, start } = decodeContinue(options.continue)
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  const startAfter = selection.prefix + (start.endsWith('\0') ? start.slice(0, -1) : start)
  const at = revision === -1 ? {} : { revision }
  try {
    if (revision !== -1) compaction.check(revision)
    return pageOf(cache.list(selection, { startAfter, limit, ...at }), selection)
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
      { continue: encodeContinue({ revision: -1, start }) },
    )
  }
}

function pageOf({ items, revision, remaining }: CachedList, selection: Selection): Page {
  const metadata: ListMetadata = { resourceVersion: String(revision) }
  const last = items.at(-1)
  if (remaining > 0 && last) {
    metadata.continue = encodeContinue({ revision, start: `${last.key.slice(selection.prefix.length)}\0` })
    if (selectsAll(selection)) metadata.remainingItemCount = remaining
  }
  return { items, metadata }
}
