import { apiVersionOf } from '../shared/api/api-version.ts'
import { mayHoldLarge, parseStored, toJson } from '../shared/api/json/exact-json.ts'
import { ownValue } from '../shared/api/json/own-value.ts'
import type { Leader } from '../shared/api/leader.ts'
import { methodNotSupported, resourceNotFound } from '../shared/api/status/status-errors.ts'
import type { Binding, KubeList, KubeObject, WatchEvent } from '../shared/api/types.ts'
import type {
  Client,
  ListQuery,
  ObjectRef,
  PatchSettings,
  PatchType,
  Resource,
  WatchQuery,
} from '../shared/client/client.ts'
import { loopShare } from '../shared/clock/loop-share.ts'
import type { ApiContext } from './http/api-context.ts'
import { type PatchMediaType, readPatch } from './http/body/patch-body.ts'
import { headOf } from './http/encode/object-encoder.ts'
import { parseDeleteOptions } from './http/options/delete-options.ts'
import { parseListOptions } from './http/options/list-options.ts'
import type { ParsedWriteOptions } from './http/options/write-options.ts'
import { bind } from './http/subresources/binding.ts'
import { makeToken, type TokenRequest } from './http/subresources/token.ts'
import { applied, type Config } from './http/verbs/apply.ts'
import { readPage } from './http/verbs/list.ts'
import { patched } from './http/verbs/patch.ts'
import { startOf } from './http/verbs/watch.ts'
import { type AccessReview, reviewSubject } from './http/virtual/access-reviews.ts'
import type { ResourceDefinition } from './kind/resource-definition.ts'
import type { User } from './kind/user.ts'
import { asWritten, LocalWatch } from './local-watch.ts'
import { keyPrefix } from './registry/keys.ts'
import { fenceOf } from './registry/leader-fence.ts'
import type { Registry } from './registry/registry.ts'
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

/** Creates something through a subresource instead of an object. */
type Creation = (api: ApiContext, scope: ObjectScope, body: object, options: ParsedWriteOptions) => Promise<object>
const creations: Readonly<Record<string, Creation>> = {
  async binding({ registry }, scope, body, options) {
    await bind(registry, scope, body as Binding, options)
    return body
  },
  token: (api, scope, body, options) => makeToken(api, body as TokenRequest, scope, options),
}

export interface LocalClientOptions {
  /**
   * An integer beyond 2⁵³ − 1 is read as a BigInt, for what copies it into other objects.
   * Otherwise it is rounded, for what computes with it. Both are written as they are. Default: rounded.
   */
  exact?: boolean
  /** Makes writes depend on a leader: they succeed only while it holds its Lease. Without it they always do. */
  leader?: Leader
}

/** A {@link Client} without a network: the same rules, the same answers, no bytes. */
class LocalClient implements Client {
  readonly #api: ApiContext
  readonly #user: User
  readonly #exact: boolean
  readonly #registry: Registry
  readonly #writeOptions: ParsedWriteOptions

  constructor(api: ApiContext, user: User, { exact = false, leader }: LocalClientOptions = {}) {
    this.#api = api
    this.#user = user
    this.#exact = exact
    const { registry } = api
    this.#registry = registry
    // As its program would be called.
    const fieldManager = user.name.replace(/^system:/, '')
    this.#writeOptions = {
      asked: {},
      dryRun: false,
      fieldManager,
      fieldManagerGiven: true,
      fieldValidation: 'Ignore',
      force: false,
      limits: registry.limits,
      ...(leader && { fence: fenceOf(leader) }),
      warn: () => {},
    }
  }

  async get<T extends object>(resource: Resource, ref: ObjectRef): Promise<T> {
    await loopShare.turn()
    const scope = this.#scopeOf(resource, ref)
    await this.#registry.cacheOf(scope.definition).readable()
    return shown<T>(scope.definition, this.#registry.get(scope), this.#exact)
  }

  async list<T extends object>(resource: Resource, options: ListQuery = {}): Promise<KubeList<T>> {
    await loopShare.turn()
    const definition = find(this.#api, resource)
    const cache = this.#registry.cacheOf(definition)
    await cache.readable()
    const { items, metadata } = await readPage(this.#api, cache, selected(definition, options, false))
    return {
      ...typeOf(definition, 'List'),
      metadata,
      items: items.map((item) => shown<T>(definition, item, this.#exact)),
    } as KubeList<T>
  }

  async create<T extends object>(
    resource: Resource,
    object: T,
    options: { namespace?: string; subresource?: string; name?: string; unread?: boolean } = {},
  ): Promise<T> {
    await loopShare.turn()
    const { metadata } = object as unknown as KubeObject
    const namespace = options.namespace ?? metadata?.namespace
    if (options.subresource !== undefined) {
      const scope = this.#scopeOf(resource, { namespace, name: options.name ?? metadata.name ?? '' })
      const create = ownValue(creations, options.subresource)
      if (!create) throw methodNotSupported(scope.definition, 'create')
      return (await create(this.#api, scope, object, this.#writeOptions)) as T
    }
    const scope = { definition: find(this.#api, resource), namespace, user: this.#user }
    if (scope.definition.virtual)
      return (await reviewed(this.#api, scope, this.#decoded(scope, object))) as unknown as T
    const stored = await this.#registry.create(scope, this.#decoded(scope, object), this.#writeOptions)
    return options.unread ? object : shown<T>(scope.definition, stored, this.#exact)
  }

  async update<T extends object>(resource: Resource, object: T, options: { subresource?: string } = {}): Promise<T> {
    await loopShare.turn()
    const { namespace, name } = (object as unknown as KubeObject).metadata
    const scope = this.#scopeOf(resource, { namespace, name: name ?? '' }, options.subresource)
    const { stored } = await this.#registry.update(
      scope,
      {
        uidIsPrecondition: true,
        createAbsent: 'if the kind allows it',
        transform: () => this.#decoded(scope, object),
      },
      this.#writeOptions,
    )
    return shown<T>(scope.definition, stored, this.#exact)
  }

  async patch<T extends object>(
    resource: Resource,
    ref: ObjectRef,
    body: unknown,
    { type = 'merge', subresource, readOnly, fieldManager }: PatchSettings = {},
  ): Promise<T> {
    await loopShare.turn()
    const scope = this.#scopeOf(resource, ref, subresource)
    if (type === 'apply') return this.#apply<T>(scope, body as Config, fieldManager)
    const { definition } = scope
    const { strategy } = definition
    const text = toJson(body)
    let written: KubeObject | undefined
    const { stored } = await this.#registry.update(
      scope,
      {
        uidIsPrecondition: false,
        createAbsent: 'never',
        transform: (current) => {
          // Parsed again for each try: what is patched takes in parts of it.
          const { schema } = definition
          const maxValues = this.#registry.limits.bodyValues
          const read = () => readPatch(mediaTypes[type], text, { schema, fieldValidation: 'Ignore', maxValues })
          const object = patched(definition, current!, read, this.#writeOptions)
          strategy.applyDefaults?.(object, this.#registry.strategyContext(scope))
          written = object
          return object
        },
      },
      this.#writeOptions,
    )
    const isNew = !(stored instanceof CachedObject) && !conversionOf(definition)
    const asIs = isNew && (this.#exact || !mayHoldLarge(stored.value))
    return (
      readOnly && written && asIs
        ? asWritten(definition, written, stored.revision)
        : shown(definition, stored, this.#exact)
    ) as T
  }

  async #apply<T extends object>(scope: ObjectScope, config: Config, fieldManager: string | undefined): Promise<T> {
    const asked = { ...this.#writeOptions, ...(fieldManager && { fieldManager }), force: true }
    const { stored } = await this.#registry.update(
      scope,
      {
        uidIsPrecondition: false,
        createAbsent: scope.subresource ? 'never' : 'always',
        transform: (current) =>
          applied(this.#api, scope, { current: current?.(), config: copy(config), options: asked }),
      },
      { ...asked, managedFieldsAreSet: true },
    )
    return shown<T>(scope.definition, stored, this.#exact)
  }

  async delete(resource: Resource, ref: ObjectRef, options = {}): Promise<void> {
    await loopShare.turn()
    const scope = this.#scopeOf(resource, ref)
    const { featureGates } = this.#registry
    const context = { featureGates, warn: this.#writeOptions.warn }
    const deleteOptions = parseDeleteOptions({ ...options }, new URLSearchParams(), context)
    await this.#registry.delete(scope, deleteOptions, { ...this.#writeOptions, asked: { ...deleteOptions } })
  }

  watch<T extends object>(resource: Resource, query: WatchQuery): AsyncIterable<WatchEvent<T>> {
    const definition = find(this.#api, resource)
    const { options, selection } = selected(definition, query, true)
    return new LocalWatch<T>(this.#api, definition, {
      selection,
      bookmarks: options.allowWatchBookmarks,
      after: startOf(options, this.#registry.cacheOf(definition).revision()),
      timeoutSeconds: options.timeoutSeconds,
      signal: query.signal,
      exact: this.#exact,
    })
  }

  async close(): Promise<void> {}

  #scopeOf(resource: Resource, { namespace, name }: ObjectRef, subresource?: string): ObjectScope {
    return {
      definition: find(this.#api, resource),
      namespace,
      name,
      subresource,
      user: this.#user,
    }
  }

  #decoded(scope: Omit<ObjectScope, 'name'>, body: object): KubeObject {
    const { object } = decodeObject(scope.definition, copy(body), this.#registry.limits.bodyValues)
    scope.definition.strategy.applyDefaults?.(object, this.#registry.strategyContext(scope))
    return object
  }
}

export const createLocalClient = (api: ApiContext, user: User, options?: LocalClientOptions): Client =>
  new LocalClient(api, user, options)

/** Loops create one kind that is not stored: they ask what a user may do. */
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
