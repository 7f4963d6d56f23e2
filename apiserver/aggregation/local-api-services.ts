import { ignoring } from '../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import { keyPrefix, nameInKey } from '../registry/keys.ts'
import type { Registry } from '../registry/registry.ts'
import type { StorageWatch } from '../storage/storage.ts'
import { deepEqual } from '../values/deep-equal.ts'
import {
  type APIService,
  AUTOMANAGED,
  apiServiceName,
  continuously,
  type GroupVersion,
  localSpec,
  onStart,
} from './api-service.ts'
import { builtInPriorities, customPriorities } from './priorities.ts'

interface LocalApiServicesOptions {
  /** Describe the kinds APIService and CustomResourceDefinition. */
  kinds: { apiService: ResourceDefinition; definition: ResourceDefinition }
  registry: Registry
  /** Names the user as which the server itself writes. */
  self: User
  clock: Clock
  log: Logger
}

type Definition = KubeObject & {
  spec: { group: string; versions?: { name: string; served: boolean }[] | null }
}

const quietly = { dryRun: false, fieldManager: 'kube-apiserver', warn: () => undefined }

/**
 * Keeps an APIService for each group version of custom resources, and brings those of built-in group versions up to
 * date when the server starts. Upstream: kube-aggregator's autoregister and pkg/controlplane/controller/crdregistration.
 */
export class LocalApiServices {
  readonly #kinds: LocalApiServicesOptions['kinds']
  readonly #registry: Registry
  readonly #self: User
  readonly #queue: WorkQueue<string>
  /** Maps names of custom resource definitions to the group versions that they serve. */
  readonly #served = new Map<string, GroupVersion[]>()
  /** Counts, by name of APIService, the definitions that want it. */
  readonly #wanted = new Map<string, { groupVersion: GroupVersion; definitions: Set<string> }>()
  readonly #watches: StorageWatch[] = []

  constructor({ kinds, registry, self, clock, log }: LocalApiServicesOptions) {
    this.#kinds = kinds
    this.#registry = registry
    this.#self = self
    this.#queue = new WorkQueue<string>({
      clock: clock.machine,
      work: (name) => this.#sync(name),
      onError: (error, name) => log.warn({ err: error, apiService: name }, 'APIService: will try again'),
    })
  }

  /** The objects have to be loaded. */
  start(): void {
    const { apiService, definition } = this.#kinds
    const { lookupAll } = this.#registry
    this.#watches.push(
      this.#follow(definition, (name) => this.#definitionChanged(name)),
      this.#follow(apiService, (name) => this.#apiServiceChanged(name)),
    )
    for (const { metadata } of lookupAll(definition)) this.#definitionChanged(metadata.name ?? '')
    for (const service of lookupAll(apiService) as unknown as Iterable<APIService>) {
      const name = service.metadata.name ?? ''
      const managed = automanaged(service)
      if (managed === onStart ? this.#isOutdated(service) : managed === continuously) this.#queue.add(name)
    }
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close()
    await this.#queue.close()
  }

  #follow(kind: ResourceDefinition, changed: (name: string) => void): StorageWatch {
    return this.#registry.storage.watch({
      prefix: keyPrefix(kind),
      // The caches learn of the write in the same turn of the event loop.
      onEvents: (events) => void setImmediate(() => events.forEach(({ key }) => void changed(nameInKey(key)))),
    })
  }

  #definitionChanged(name: string): void {
    const found = this.#registry.lookup(this.#kinds.definition, undefined, name) as Definition | undefined
    const before = this.#served.get(name) ?? []
    const now = found ? servedBy(found) : []
    if (deepEqual(before, now)) return
    if (now.length > 0) this.#served.set(name, now)
    else this.#served.delete(name)
    for (const groupVersion of before) this.#wants(groupVersion)?.definitions.delete(name)
    for (const groupVersion of now) {
      const id = apiServiceName(groupVersion)
      const wanted = this.#wanted.get(id) ?? { groupVersion, definitions: new Set() }
      this.#wanted.set(id, wanted)
      wanted.definitions.add(name)
    }
    for (const groupVersion of [...before, ...now]) {
      const id = apiServiceName(groupVersion)
      if (this.#wanted.get(id)?.definitions.size === 0) this.#wanted.delete(id)
      this.#queue.add(id)
    }
  }

  /** The APIServices of built-in group versions are left alone once the server runs. */
  #apiServiceChanged(name: string): void {
    if (this.#wanted.has(name) || automanaged(this.#find(name)) === continuously) this.#queue.add(name)
  }

  async #sync(name: string): Promise<void> {
    const wanted = this.#wanted.get(name)
    const current = this.#find(name)
    const spec = wanted ? localSpec(wanted.groupVersion, customPriorities) : this.#builtInSpec(current)
    const scope = { definition: this.#kinds.apiService, name, user: this.#self }
    if (!current) {
      if (!wanted || !spec) return
      const object = { metadata: { name, labels: { [AUTOMANAGED]: continuously } }, spec } as unknown as KubeObject
      await this.#registry.create(scope, object, quietly).catch(ignoring('AlreadyExists'))
      return
    }
    if (automanaged(current) === undefined) return
    if (!spec) {
      const { uid } = current.metadata
      await this.#registry.delete(scope, { preconditions: { uid } }, quietly).catch(ignoring('NotFound', 'Conflict'))
      return
    }
    if (deepEqual(current.spec, spec)) return
    const transform = (stored: (() => KubeObject) | undefined): KubeObject => ({ ...stored!(), spec })
    const update = { uidIsPrecondition: false, createAbsent: 'never', transform } as const
    await this.#registry.update(scope, update, quietly).catch(ignoring('NotFound'))
  }

  #find(name: string): APIService | undefined {
    return this.#registry.lookup(this.#kinds.apiService, undefined, name) as APIService | undefined
  }

  #wants(groupVersion: GroupVersion) {
    return this.#wanted.get(apiServiceName(groupVersion))
  }

  #isOutdated(service: APIService): boolean {
    const spec = this.#builtInSpec(service)
    return !spec || !deepEqual(service.spec, spec)
  }

  /** Returns undefined if the server does not serve the group version as a built-in one. */
  #builtInSpec(service: APIService | undefined): ReturnType<typeof localSpec> | undefined {
    if (automanaged(service) !== onStart) return undefined
    const { group = '', version = '' } = service?.spec ?? {}
    const priorities = builtInPriorities(group, version)
    return priorities && localSpec({ group, version }, priorities)
  }
}

const servedBy = ({ spec }: Definition): GroupVersion[] =>
  (spec.versions ?? []).filter(({ served }) => served).map(({ name }) => ({ group: spec.group, version: name }))

function automanaged(service: APIService | undefined): typeof onStart | typeof continuously | undefined {
  const managed = service?.metadata.labels?.[AUTOMANAGED]
  return managed === onStart || managed === continuously ? managed : undefined
}
