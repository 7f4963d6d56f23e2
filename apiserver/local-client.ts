import { apiVersionOf } from '../shared/api/api-version.ts'
import { mayHoldLarge, parseStored, toJson } from '../shared/api/exact-json.ts'
import { badRequest, methodNotSupported, resourceNotFound } from '../shared/api/status-errors.ts'
import type { KubeList, KubeObject, WatchEvent } from '../shared/api/types.ts'
import type { Client, ListQuery, ObjectRef, PatchType, Resource, WatchQuery } from '../shared/client/client.ts'
import type { User } from './auth/types.ts'
import type { ApiContext } from './http/api-context.ts'
import { parseDeleteOptions } from './http/delete-options.ts'
import { parseListOptions } from './http/list-options.ts'
import { headOf } from './http/object-encoder.ts'
import { type PatchMediaType, readPatch } from './http/patch-body.ts'
import { bind } from './http/subresources/binding.ts'
import { makeToken, type TokenRequest } from './http/subresources/token.ts'
import { readPage } from './http/verbs/list.ts'
import { patched } from './http/verbs/patch.ts'
import { startOf } from './http/verbs/watch.ts'
import { type AccessReview, reviewSubject } from './http/virtual/access-reviews.ts'
import type { ParsedWriteOptions } from './http/write-options.ts'
import type { ResourceDefinition } from './kind/resource-definition.ts'
import { asWritten, LocalWatch } from './local-watch.ts'
import { keyPrefix } from './registry/keys.ts'
import { conversionOf, type StoredObject, spliceHead } from './registry/stored-object.ts'
import type { ObjectScope, RequestScope } from './registry/write-context.ts'
import { decodeObject } from './validation/decoder.ts'
import { copy } from './values/json-map.ts'
import { CachedObject } from './watchcache/cached-object.ts'

const mediaTypes: Record<Exclude<PatchType, 'apply'>, Exclude<PatchMediaType, 'application/apply-patch+yaml'>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
}

export interface LocalClientOptions {
  /**
   * An integer beyond 2⁵³ − 1 is read as a BigInt, for what copies it into other objects.
   * Otherwise it is rounded, for what computes with it. Both are written as they are. Default: rounded.
   */
  exact?: boolean
}

/** A {@link Client} without a network: the same rules, the same answers, no bytes. */
export function createLocalClient(api: ApiContext, user: User, { exact = false }: LocalClientOptions = {}): Client {
  const { registry } = api
  const fieldManager = user.name.replace(/^system:/, '') // as its program would be called
  const writeOptions: ParsedWriteOptions = {
    asked: {},
    dryRun: false,
    fieldManager,
    fieldManagerGiven: true,
    fieldValidation: 'Ignore',
    force: false,
    warn: () => {},
  }

  const scopeOf = (resource: Resource, { namespace, name }: ObjectRef, subresource?: string): ObjectScope => ({
    definition: find(api, resource),
    namespace,
    name,
    subresource,
    user,
  })

  const decoded = (scope: Omit<ObjectScope, 'name'>, body: object): KubeObject => {
    const { object } = decodeObject(scope.definition, copy(body))
    scope.definition.strategy.applyDefaults?.(object, registry.strategyContext(scope))
    return object
  }

  return {
    async get<T extends object>(resource: Resource, ref: ObjectRef) {
      const scope = scopeOf(resource, ref)
      await registry.cacheOf(scope.definition).readable()
      return shown<T>(scope.definition, registry.get(scope), exact)
    },

    async list<T extends object>(resource: Resource, options: ListQuery = {}) {
      const definition = find(api, resource)
      const cache = registry.cacheOf(definition)
      await cache.readable()
      const { items, metadata } = await readPage(api, cache, selected(definition, options, false))
      return {
        ...typeOf(definition, 'List'),
        metadata,
        items: items.map((item) => shown<T>(definition, item, exact)),
      } as KubeList<T>
    },

    async create<T extends object>(
      resource: Resource,
      object: T,
      options: { namespace?: string; subresource?: string; name?: string; unread?: boolean } = {},
    ) {
      const { metadata } = object as unknown as KubeObject
      const namespace = options.namespace ?? metadata?.namespace
      if (options.subresource !== undefined) {
        const scope = scopeOf(resource, { namespace, name: options.name ?? metadata.name ?? '' })
        if (options.subresource === 'token') {
          return (await makeToken(api, object as unknown as TokenRequest, scope, writeOptions)) as unknown as T
        }
        if (options.subresource !== 'binding') throw methodNotSupported(scope.definition, 'create')
        await bind(registry, scope, object as never, writeOptions)
        return object
      }
      const scope = { definition: find(api, resource), namespace, user }
      if (scope.definition.virtual) return (await reviewed(api, scope, decoded(scope, object))) as unknown as T
      const stored = await registry.create(scope, decoded(scope, object), writeOptions)
      return options.unread ? object : shown<T>(scope.definition, stored, exact)
    },

    async update<T extends object>(resource: Resource, object: T, options: { subresource?: string } = {}) {
      const { namespace, name } = (object as unknown as KubeObject).metadata
      const scope = scopeOf(resource, { namespace, name: name ?? '' }, options.subresource)
      const { stored } = await registry.update(
        scope,
        {
          uidIsPrecondition: true,
          createAbsent: 'if the kind allows it',
          transform: () => decoded(scope, object),
        },
        writeOptions,
      )
      return shown<T>(scope.definition, stored, exact)
    },

    async patch<T extends object>(
      resource: Resource,
      ref: ObjectRef,
      body: unknown,
      { type = 'merge', subresource, readOnly }: { type?: PatchType; subresource?: string; readOnly?: boolean } = {},
    ) {
      if (type === 'apply') throw badRequest('apply goes over the network only')
      const scope = scopeOf(resource, ref, subresource)
      const { definition } = scope
      const { strategy } = definition
      const text = toJson(body)
      let written: KubeObject | undefined
      const { stored } = await registry.update(
        scope,
        {
          uidIsPrecondition: false,
          createAbsent: 'never',
          transform(current) {
            // Parsed again for each try: what is patched takes in parts of it.
            const read = readPatch(mediaTypes[type], text, { schema: definition.schema, fieldValidation: 'Ignore' })
            const object = patched(definition, current!(), read, writeOptions)
            strategy.applyDefaults?.(object, registry.strategyContext(scope))
            written = object
            return object
          },
        },
        writeOptions,
      )
      const isNew = !(stored instanceof CachedObject) && !conversionOf(definition)
      const asIs = isNew && (exact || !mayHoldLarge(stored.value))
      return (
        readOnly && written && asIs ? asWritten(definition, written, stored.revision) : shown(definition, stored, exact)
      ) as T
    },

    async delete(resource, ref, options = {}) {
      const scope = scopeOf(resource, ref)
      const { featureGates } = registry
      const context = { featureGates, warn: writeOptions.warn }
      const deleteOptions = parseDeleteOptions({ ...options }, new URLSearchParams(), context)
      await registry.delete(scope, deleteOptions, { ...writeOptions, asked: { ...deleteOptions } })
    },

    watch<T extends object>(resource: Resource, query: WatchQuery): AsyncIterable<WatchEvent<T>> {
      const definition = find(api, resource)
      const { options, selection } = selected(definition, query, true)
      return new LocalWatch<T>(api, definition, {
        selection,
        bookmarks: options.allowWatchBookmarks,
        after: startOf(options, registry.cacheOf(definition).revision()),
        timeoutSeconds: options.timeoutSeconds,
        signal: query.signal,
        exact,
      })
    },

    async close() {},
  }
}

/** Of what is not stored, loops ask what a user may do. */
async function reviewed(api: ApiContext, scope: RequestScope, object: KubeObject): Promise<KubeObject> {
  if (scope.definition.kind !== 'SubjectAccessReview') throw methodNotSupported(scope.definition, 'create')
  await reviewSubject(api, scope, object as AccessReview)
  return object
}

function find({ catalog }: ApiContext, { group, version, plural }: Resource): ResourceDefinition {
  const definition = catalog.find(group, version, plural)
  if (!definition) throw resourceNotFound()
  return definition
}

function shown<T extends object>(definition: ResourceDefinition, stored: StoredObject, exact: boolean): T {
  const text = spliceHead(headOf(definition), stored)
  return (exact ? parseStored(text) : JSON.parse(text)) as T
}

const typeOf = (definition: ResourceDefinition, suffix: string) => ({
  kind: definition.kind + suffix,
  apiVersion: apiVersionOf(definition),
})

/** Options travel as a query does, so that they are checked in the same way. */
function selected(definition: ResourceDefinition, { namespace, ...rest }: ListQuery & WatchQuery, watch: boolean) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined && name !== 'signal') query.set(name, String(value))
  }
  if (rest.sendInitialEvents !== undefined) query.set('resourceVersionMatch', 'NotOlderThan')
  const options = parseListOptions(query, definition, watch)
  const selection = { prefix: keyPrefix(definition, namespace), labels: options.labels, fields: options.fields }
  return { options, selection }
}
