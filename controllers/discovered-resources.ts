import type { KubeObject, WithMeta } from '../shared/api/types.ts'
import { type Informer, startInformer } from '../shared/client/informer.ts'
import { customResourceDefinitions } from '../shared/client/resources.ts'
import type { ServerClient } from '../shared/client/rest-client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { type TellFailure, tellFailures } from '../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../shared/concurrency/work-queue.ts'
import type { Log } from '../shared/log/log.ts'
import type { ApiResource, ApiResources, Controller } from './controller.ts'

/** Upstream's garbage collector asks as often what is served. */
const intervalMs = 30_000
/** A definition makes several events when it comes. */
const settleMs = 100

interface ServedGroup {
  name: string
  versions: { groupVersion: string; version: string }[]
  preferredVersion?: { version: string }
}
interface ServedResource {
  name: string
  kind: string
  namespaced: boolean
  verbs: string[]
}
type Definition = WithMeta<{
  spec: {
    group: string
    names: { plural: string }
    versions: { name: string; subresources?: { scale?: { specReplicasPath?: string } } }[]
  }
}>
type Listener = Parameters<ApiResources['follow']>[0]

/**
 * Keeps a list of what an API server serves, from its discovery documents, for loops in another process. The list is
 * refreshed when a CustomResourceDefinition changes, and every 30 s. If a group does not answer, its last known
 * resources stay.
 */
export class DiscoveredResources implements ApiResources, Controller {
  readonly #client: ServerClient
  readonly #failed: TellFailure<string>
  readonly #definitions: Informer<Definition>
  readonly #queue: WorkQueue<'refresh'>
  readonly #listeners = new Set<Listener>()
  readonly #first = Promise.withResolvers<void>()
  #served = new Map<string, ApiResource>()

  constructor({ client, clock, log }: { client: ServerClient; clock: Clock; log: Log }) {
    this.#client = client
    this.#failed = tellFailures({ clock, log, loop: 'discovery', object: (group: string) => `the group ${group}` })
    this.#queue = new WorkQueue<'refresh'>({
      clock: clock.machine,
      retry: { initialMs: 200, maxMs: 5_000 },
      work: () => this.#refresh(),
      onError: tellFailures({ clock, log, loop: 'discovery', object: () => 'all groups' }),
    })
    const changed = (): void => this.#queue.addAfter('refresh', settleMs)
    this.#definitions = startInformer<Definition>({
      client,
      clock,
      resource: customResourceDefinitions,
      transform: ({ metadata, spec: { group, names, versions } }) => ({
        metadata: { name: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        spec: {
          group,
          names: { plural: names.plural },
          versions: versions.map(({ name, subresources }) => ({ name, subresources })),
        },
      }),
      handlers: [{ onAdd: changed, onUpdate: changed, onDelete: changed }],
    })
    this.#first.promise.catch(() => {})
    this.#queue.add('refresh')
  }

  current(): readonly ApiResource[] {
    return [...this.#served.values()]
  }

  follow(listener: Listener): () => void {
    this.#listeners.add(listener)
    for (const resource of this.#served.values()) listener.onAdd(resource)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves when it is known what is served. */
  async synced(): Promise<void> {
    await Promise.all([this.#first.promise, this.#definitions.synced()])
  }

  async close(): Promise<void> {
    this.#first.reject(new Error('closed before the API server said what it serves'))
    await Promise.all([this.#queue.close(), this.#definitions.close()])
  }

  async #refresh(): Promise<void> {
    const { groups } = await this.#client.document<{ groups: ServedGroup[] }>('/apis')
    const core = { name: '', versions: [{ groupVersion: 'v1', version: 'v1' }] }
    const found = await Promise.all(
      [core, ...groups].map((group) => this.#servedBy(group).catch(this.#asBefore(group))),
    )
    this.#replace(found.flat())
    this.#first.resolve()
    this.#queue.addAfter('refresh', intervalMs)
  }

  /** Resolves to each resource of the group once, in the first version that has it. */
  async #servedBy({ name: group, versions, preferredVersion }: ServedGroup): Promise<ApiResource[]> {
    const isPreferred = ({ version }: { version: string }): boolean => version === preferredVersion?.version
    const inOrder = [...versions.filter(isPreferred), ...versions.filter((version) => !isPreferred(version))]
    const lists = await Promise.all(
      inOrder.map(async ({ groupVersion, version }) => {
        const path = group === '' ? `/api/${version}` : `/apis/${groupVersion}`
        const { resources } = await this.#client.document<{ resources: ServedResource[] }>(path)
        return resources.flatMap((served) => this.#resourceOf({ group, version }, served, resources) ?? [])
      }),
    )
    return lists.flat()
  }

  /** Returns a handler that keeps what is known of a group whose server does not answer. */
  #asBefore({ name: group }: ServedGroup): (error: unknown) => ApiResource[] {
    return (error) => {
      if (group === '') throw error
      this.#failed(error, group)
      return this.current().filter((resource) => resource.group === group)
    }
  }

  #resourceOf(
    { group, version }: { group: string; version: string },
    { name: plural, kind, namespaced, verbs }: ServedResource,
    all: readonly ServedResource[],
  ): ApiResource | undefined {
    if (plural.includes('/')) return undefined
    const hasScale = all.some(({ name }) => name === `${plural}/scale`)
    const specReplicas = (object: KubeObject) => numberAt(object, this.#replicasPath({ group, version, plural }))
    return {
      group,
      version,
      plural,
      kind,
      namespaced,
      verbs,
      ...(isRecord(group, plural) && { outlivesNamespace: true }),
      ...(hasScale && { subresources: { scale: true }, custom: { scale: { specReplicas } } }),
    }
  }

  #replicasPath(wanted: { group: string; version: string; plural: string }): string {
    const definition = this.#definitions.get({ name: `${wanted.plural}.${wanted.group}` })
    const version = definition?.spec.versions.find(({ name }) => name === wanted.version)
    return version?.subresources?.scale?.specReplicasPath ?? '.spec.replicas'
  }

  #replace(found: readonly ApiResource[]): void {
    const before = this.#served
    const now = new Map<string, ApiResource>()
    for (const resource of found) {
      const key = `${resource.plural}.${resource.group}`
      if (now.has(key)) continue
      const known = before.get(key)
      now.set(key, known?.version === resource.version ? known : resource)
    }
    this.#served = now
    for (const [key, old] of before)
      if (now.get(key) !== old) for (const listener of this.#listeners) listener.onRemove?.(old)
    for (const [key, resource] of now)
      if (before.get(key) !== resource) for (const listener of this.#listeners) listener.onAdd(resource)
  }
}

/** Records of terminations tell of pods whose namespace is gone. */
const isRecord = (group: string, plural: string): boolean => group === 'kubestage.dev' && plural === 'terminations'

/** `path` as in `.spec.replicas`. */
function numberAt(object: object, path: string): number | undefined {
  let value: unknown = object
  for (const field of path.split('.').filter(Boolean)) value = (value as Record<string, unknown> | undefined)?.[field]
  return typeof value === 'number' ? value : undefined
}
