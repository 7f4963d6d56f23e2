import { keyPrefix, nameInKey } from '../registry/keys.ts'
import type { WayToPod } from '../registry/way-to-pod.ts'
import type { StorageEvent, StorageWatch } from '../storage/storage.ts'
import { deepEqual } from '../values/deep-equal.ts'
import { serviceResolver } from '../webhook-client/service-resolver.ts'
import type { APIService } from './api-service.ts'
import { AvailabilityChecker, type CheckerOptions } from './availability.ts'
import { type RemoteApi, remoteApi } from './remote-api.ts'
import { RemoteClient, type RemoteClientOptions } from './remote-client.ts'
import { type RemoteDocument, RemoteDocuments } from './remote-documents.ts'

export interface AggregationOptions extends Omit<CheckerOptions, 'client'> {
  certificate: RemoteClientOptions['certificate']
  wayToPod: WayToPod
}

const services = { group: '', plural: 'services' }
const endpointSlices = { group: 'discovery.k8s.io', plural: 'endpointslices' }

/** Follows APIServices with a Service: which server serves a group version, and whether it can be asked. */
export class Aggregation {
  readonly client: RemoteClient
  readonly #options: AggregationOptions
  readonly #checker: AvailabilityChecker
  readonly #documents: RemoteDocuments
  /** Rises with each change of what other servers serve: documents may be kept until then. */
  generation = 1
  /** Maps names of APIServices to what they say. */
  readonly #apis = new Map<string, RemoteApi>()
  /** Maps groups to versions to the same, for requests. */
  readonly #byGroup = new Map<string, Map<string, RemoteApi>>()
  #watch: StorageWatch | undefined
  /** Watches Services and EndpointSlices while there is an APIService with a Service. */
  #backends: StorageWatch[] = []

  constructor(options: AggregationOptions) {
    const { registry, clock, certificate } = options
    this.#options = options
    const resolve = serviceResolver(registry, options.wayToPod, registry.random)
    this.client = new RemoteClient({ clock: clock.machine, certificate, resolve })
    this.#checker = new AvailabilityChecker({ ...options, client: this.client })
    this.#documents = new RemoteDocuments({
      ...options,
      client: this.client,
      find: (name) => this.#apis.get(name),
      changed: () => this.generation++,
    })
  }

  /** Returns true if this server serves all group versions itself. */
  get isEmpty(): boolean {
    return this.#apis.size === 0
  }

  hasGroup(group: string): boolean {
    return this.#byGroup.has(group)
  }

  /** Returns the API of a group version that another server serves. */
  find(group: string, version: string): RemoteApi | undefined {
    return this.#byGroup.get(group)?.get(version)
  }

  /** Returns every group version that another server serves, with what that server has said about it. */
  served(): (RemoteApi & RemoteDocument)[] {
    return [...this.#apis.values()].map((api) => ({ ...this.#documents.get(api.name), ...api }))
  }

  /** The objects have to be loaded. */
  start(): void {
    const { kind, registry } = this.#options
    this.#watch = registry.storage.watch({
      prefix: keyPrefix(kind),
      // The caches learn of the write in the same turn of the event loop.
      onEvents: (events) => void setImmediate(() => events.forEach(({ key }) => void this.#changed(nameInKey(key)))),
    })
    for (const { metadata } of registry.lookupAll(kind)) this.#changed(metadata.name ?? '')
  }

  async close(): Promise<void> {
    this.#watch?.close()
    this.#unfollow()
    await this.#checker.close()
    await this.#documents.close()
    this.client.close()
  }

  #changed(name: string): void {
    const { kind, registry } = this.#options
    const found = registry.lookup(kind, undefined, name) as APIService | undefined
    const api = found && remoteApi(found)
    const before = this.#apis.get(name)
    if (found && !api && before === undefined && isLocal(found)) return
    if (api) this.#put(api)
    else if (before) this.#remove(before)
    if (!deepEqual(api, before)) {
      this.generation++
      if (api) this.#documents.read(name)
    }
    if (this.isEmpty) this.#unfollow()
    else this.#follow()
    // A change of the condition alone is the checker's own.
    if (found && !(api && before && deepEqual({ ...api, isAvailable: true }, { ...before, isAvailable: true })))
      this.#checker.check(name)
  }

  #put(api: RemoteApi): void {
    this.#apis.set(api.name, api)
    const versions = this.#byGroup.get(api.group) ?? new Map<string, RemoteApi>()
    this.#byGroup.set(api.group, versions.set(api.version, api))
  }

  #remove({ name, group, version }: RemoteApi): void {
    this.#apis.delete(name)
    this.#documents.forget(name)
    const versions = this.#byGroup.get(group)
    versions?.delete(version)
    if (versions?.size === 0) this.#byGroup.delete(group)
  }

  #follow(): void {
    if (this.#backends.length > 0) return
    const watch = (prefix: string, isAbout: (event: StorageEvent, api: RemoteApi) => boolean): StorageWatch =>
      this.#options.registry.storage.watch({
        prefix,
        onEvents: (events) => {
          for (const api of this.#apis.values())
            if (events.some((event) => isAbout(event, api))) setImmediate(() => this.#checker.check(api.name))
        },
      })
    this.#backends = [
      watch(
        keyPrefix(services),
        ({ key }, { service }) => key === `${keyPrefix(services, service.namespace)}${service.name}`,
      ),
      watch(keyPrefix(endpointSlices), isSliceOf),
    ]
  }

  #unfollow(): void {
    for (const watch of this.#backends) watch.close()
    this.#backends = []
  }
}

/** Says whether a slice belongs to the API's Service, without decoding it. */
function isSliceOf({ key, value, previous }: StorageEvent, { service: { namespace, name } }: RemoteApi): boolean {
  const label = `"kubernetes.io/service-name":${JSON.stringify(name)}`
  if (!key.startsWith(keyPrefix(endpointSlices, namespace))) return false
  return (value ?? previous?.value ?? '').includes(label)
}

const isLocal = ({ spec, status }: APIService): boolean =>
  !spec?.service && (status?.conditions ?? []).some(({ reason }) => reason === 'Local')
