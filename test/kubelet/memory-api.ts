/**
 * The few verbs a kubelet needs, in memory and on any clock: enough of an API server to play transcripts on virtual time.
 * It tells of every write, in order.
 */
import { alreadyExists, conflict, notFound } from '../../shared/api/status/status-errors.ts'
import type { DeleteOptions, KubeObject, Pod, WatchEvent } from '../../shared/api/types.ts'
import type { Client, ObjectRef, Resource, WatchQuery } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'

export interface Write {
  verb: 'create' | 'patch' | 'delete'
  plural: string
  subresource?: string
  name: string
  body?: unknown
  object?: KubeObject
}
export interface MemoryApi {
  client: Client
  /** What a user does: graceful delete, as the real server. */
  deletePod(name: string, options?: DeleteOptions): Pod | undefined
  /** What a user changes: a new generation where the spec is another. */
  patchPod(name: string, patch: object): void
  object<T = KubeObject>(plural: string, name: string, namespace?: string): T | undefined
  onWrite(listener: (write: Write) => void): void
}

interface Watcher {
  plural: string
  query: WatchQuery
  push(event: WatchEvent): void
}

export function createMemoryApi(clock: Clock): MemoryApi {
  const objects = new Map<string, KubeObject>()
  const watchers = new Set<Watcher>()
  const listeners: ((write: Write) => void)[] = []
  let revision = 0
  let uids = 0

  const keyOf = ({ plural }: Resource, { namespace = '', name }: ObjectRef) => `${plural}/${namespace}/${name}`
  const find = (resource: Resource, ref: ObjectRef): KubeObject => {
    const object = objects.get(keyOf(resource, ref))
    if (!object) throw notFound(resource, ref.name)
    return object
  }
  const tell = (write: Write) => {
    for (const listener of listeners) listener(structuredClone(write))
  }
  /** All that ever happened, for watches that begin in the past. */
  const history: { plural: string; event: WatchEvent }[] = []
  function publish(type: WatchEvent['type'], plural: string, object: KubeObject): void {
    history.push({ plural, event: { type, object: structuredClone(object) } })
    for (const watcher of watchers) {
      if (watcher.plural === plural && selects(watcher.query.fieldSelector, object)) {
        watcher.push({ type, object: structuredClone(object) })
      }
    }
  }
  function store(resource: Resource, object: KubeObject, type: 'ADDED' | 'MODIFIED'): KubeObject {
    object.metadata.resourceVersion = String(++revision)
    objects.set(keyOf(resource, { namespace: object.metadata.namespace, name: object.metadata.name ?? '' }), object)
    publish(type, resource.plural, object)
    return structuredClone(object)
  }
  function remove(resource: Resource, ref: ObjectRef, object = find(resource, ref)): void {
    objects.delete(keyOf(resource, ref))
    publish('DELETED', resource.plural, {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++revision) },
    })
  }

  const PODS: Resource = { group: '', version: 'v1', plural: 'pods' }
  function deletePod(name: string, options: DeleteOptions = {}): Pod | undefined {
    const ref = { namespace: 'default', name }
    const pod = structuredClone(find(PODS, ref)) as unknown as Pod
    const wanted = Math.abs(options.gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30)
    const { deletionGracePeriodSeconds: stored } = pod.metadata
    if (options.reason) pod.metadata.reason = options.reason
    if (wanted === 0 || stored === 0) {
      pod.metadata.deletionGracePeriodSeconds = 0
      pod.metadata.deletionTimestamp ??= toTime(clock.now())
      remove(PODS, ref, store(PODS, pod as unknown as KubeObject, 'MODIFIED'))
      return undefined
    }
    if (stored !== undefined && wanted >= stored) return pod
    if (stored === undefined) pod.metadata.generation = (pod.metadata.generation ?? 1) + 1
    pod.metadata.deletionGracePeriodSeconds = wanted
    pod.metadata.deletionTimestamp ??= toTime(clock.now() + wanted * 1000)
    return store(PODS, pod as unknown as KubeObject, 'MODIFIED') as unknown as Pod
  }

  function patchPod(name: string, patch: object): void {
    const pod = structuredClone(find(PODS, { namespace: 'default', name })) as unknown as Pod
    merge(pod as unknown as Record<string, unknown>, patch as Record<string, unknown>)
    if ('spec' in patch) pod.metadata.generation = (pod.metadata.generation ?? 1) + 1
    store(PODS, pod as unknown as KubeObject, 'MODIFIED')
  }

  const client = {
    async get(resource: Resource, ref: ObjectRef) {
      return structuredClone(find(resource, ref))
    },
    async list(resource: Resource, query: { fieldSelector?: string } = {}) {
      const items = [...objects].filter(([key]) => key.startsWith(`${resource.plural}/`)).map(([, object]) => object)
      return {
        apiVersion: 'v1',
        kind: 'List',
        metadata: { resourceVersion: String(revision) },
        items: structuredClone(items.filter((object) => selects(query.fieldSelector, object))),
      }
    },
    async create(resource: Resource, body: KubeObject, options: { namespace?: string } = {}) {
      const object = structuredClone(body)
      const namespace = options.namespace ?? object.metadata.namespace
      const ref = { namespace, name: object.metadata.name ?? '' }
      if (objects.has(keyOf(resource, ref))) throw alreadyExists(resource, ref.name)
      Object.assign(object.metadata, {
        uid: `00000000-0000-0000-0000-${String(++uids).padStart(12, '0')}`,
        generation: 1,
        creationTimestamp: toTime(clock.now()),
        ...(namespace && { namespace }),
      })
      tell({ verb: 'create', plural: resource.plural, name: ref.name, object })
      return store(resource, object, 'ADDED')
    },
    async patch(resource: Resource, ref: ObjectRef, patch: KubeObject, options: { subresource?: string } = {}) {
      const object = structuredClone(find(resource, ref))
      const { resourceVersion, uid } = patch.metadata ?? {}
      if (uid && uid !== object.metadata.uid) throw conflict(resource, ref.name, 'the object has been modified')
      if (resourceVersion && resourceVersion !== object.metadata.resourceVersion)
        throw conflict(resource, ref.name, 'the object has been modified')
      merge(object as Record<string, unknown>, patch)
      const { subresource } = options
      tell({ verb: 'patch', plural: resource.plural, subresource, name: ref.name, body: patch, object })
      return store(resource, object, 'MODIFIED')
    },
    async delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}) {
      find(resource, ref)
      tell({ verb: 'delete', plural: resource.plural, name: ref.name, body: options })
      if (resource.plural === 'pods') deletePod(ref.name, options)
      else remove(resource, ref)
    },
    async *watch(resource: Resource, query: WatchQuery) {
      const after = Number(query.resourceVersion ?? revision)
      const queue: WatchEvent[] = history
        .filter(({ plural, event }) => plural === resource.plural && selects(query.fieldSelector, event.object))
        .map(({ event }) => structuredClone(event))
        .filter(({ object }) => Number(object.metadata.resourceVersion) > after)
      let wake = Promise.withResolvers<void>()
      const watcher = {
        plural: resource.plural,
        query,
        push(event: WatchEvent) {
          queue.push(event)
          wake.resolve()
        },
      }
      watchers.add(watcher)
      query.signal?.addEventListener('abort', () => wake.resolve())
      try {
        while (!query.signal?.aborted) {
          const next = queue.shift()
          if (next) yield next
          else {
            await wake.promise
            wake = Promise.withResolvers<void>()
          }
        }
      } finally {
        watchers.delete(watcher)
      }
    },
    async close() {},
  } as unknown as Client

  return {
    client,
    deletePod,
    patchPod,
    object: <T>(plural: string, name: string, namespace = 'default') =>
      (objects.get(`${plural}/${namespace}/${name}`) ?? objects.get(`${plural}//${name}`)) as T | undefined,
    onWrite: (listener) => void listeners.push(listener),
  }
}

function selects(fieldSelector: string | undefined, object: KubeObject): boolean {
  if (!fieldSelector) return true
  const [path = '', value] = fieldSelector.split('=')
  const found = path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object)
  return found === value
}

function merge(target: Record<string, unknown>, patch: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete target[key]
    else if (typeof value === 'object' && !Array.isArray(value)) {
      target[key] ??= {}
      merge(target[key] as Record<string, unknown>, value as Record<string, unknown>)
    } else if (key !== 'resourceVersion') target[key] = value
  }
}
