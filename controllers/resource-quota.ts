import type { V1ResourceQuotaSpec, V1ResourceQuotaStatus } from '@kubernetes/client-node'
import { hasEnded } from '../shared/api/pods/pod-phase.ts'
import { addLists, maskList, type ResourceList } from '../shared/api/quantities/resource-list.ts'
import { isStatus } from '../shared/api/status/status-error.ts'
import type { KubeObject, Wire } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import { everyState, type Informer } from '../shared/client/informer.ts'
import { pods, resourceQuotas } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { WorkQueue } from '../shared/concurrency/work-queue.ts'
import { isInScopes } from '../shared/quota/scopes.ts'
import { countedBy, type GroupResource, namesCountedBy, usageOf } from '../shared/quota/usage.ts'
import type { ApiResource, ApiResources, Controller, ControllerContext } from './controller.ts'
import type { Informers, Metadata } from './informers/informers.ts'
import type { TrimmedPod } from './informers/trimmed-pod.ts'
import { createLoopQueue } from './loop-queue.ts'

interface Quota extends KubeObject {
  spec?: Wire<V1ResourceQuotaSpec>
  status?: Wire<V1ResourceQuotaStatus>
}

/** Sums are computed again after this time without a correction. */
const resyncMs = 300_000

/**
 * Keeps the status of quotas true: what is granted, and what is in use. What is created is counted by admission, at
 * once; here what is no longer there is given back. Upstream: pkg/controller/resourcequota.
 */
class ResourceQuotaController implements Controller {
  readonly #resources: ApiResources
  readonly #client: Client
  readonly #informers: Informers
  readonly #clock: Clock
  readonly #watched = new Set<string>()
  readonly #quotas: Informer<Quota>
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext, resources: ApiResources) {
    this.#resources = resources
    const { client, informers, clock, log } = context
    this.#client = client
    this.#informers = informers
    this.#clock = clock
    this.#quotas = informers.selected<Quota>(resourceQuotas, {
      handlers: [everyState((quota) => this.#changed(quota))],
    })
    this.#queue = createLoopQueue({ clock, log, loop: 'resourcequota-controller', object: 'ResourceQuota' }, (key) =>
      this.#sync(key),
    )
    // A custom kind may come after the quota that speaks of it, go, and come again.
    resources.follow({
      onAdd: (resource) => {
        for (const quota of this.#quotas.list())
          if (namesCountedBy(resource, Object.keys(quota.spec?.hard ?? {})).length > 0) this.#changed(quota)
      },
      onRemove: (resource) => this.#watched.delete(idOf(resource)),
    })
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #changed(quota: Quota): void {
    for (const name of Object.keys(quota.spec?.hard ?? {})) this.#watch(countedBy(name))
    if (!isCounted(quota)) this.#queue.add(keyOf(quota))
    this.#queue.addAfter(keyOf(quota), resyncMs)
  }

  /** Watches a resource that a quota counts, from now on. */
  #watch(counted: GroupResource | undefined): void {
    const resource = counted && find(this.#resources, counted)
    if (!resource || this.#watched.has(idOf(resource))) return
    this.#watched.add(idOf(resource))
    const given = ({ metadata }: Metadata): void => {
      for (const quota of this.#quotas.list())
        if (quota.metadata.namespace === metadata.namespace) this.#queue.add(keyOf(quota))
    }
    if (resource.plural === pods.plural && resource.group === '') {
      const onUpdate = (pod: TrimmedPod, old: TrimmedPod): void => {
        if (hasEnded(pod) && !hasEnded(old)) given(pod)
      }
      this.#informers.pods().addHandler({ onUpdate, onDelete: given })
    } else this.#informers.metadata(resource).addHandler({ onDelete: given })
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const quota = this.#quotas.get({ namespace, name })
    if (!quota) return
    const hard = quota.spec?.hard ?? {}
    const used = await this.#usage(quota, namespace)
    if (sameList(hard, quota.status?.hard) && sameList(used, quota.status?.used)) return
    const { metadata } = quota
    try {
      await this.#client.update(
        resourceQuotas,
        { ...quota, metadata, status: { hard, used } },
        { subresource: 'status' },
      )
    } catch (error) {
      // Counted in the meantime, or gone: the next change brings it back.
      if (isStatus(error, 'Conflict')) this.#queue.addAfter(key, 10)
      else if (!isStatus(error, 'NotFound')) throw error
    }
  }

  async #usage({ spec = {} }: Quota, namespace: string): Promise<ResourceList> {
    const names = Object.keys(spec.hard ?? {})
    const counted = new Map(
      names.flatMap((name) => {
        const resource = countedBy(name)
        const served = resource && find(this.#resources, resource)
        return served ? [[idOf(served), served] as const] : []
      }),
    )
    let used: ResourceList = {}
    for (const resource of counted.values()) {
      const own = namesCountedBy(resource, names)
      const { items } = await this.#client.list(resource, { namespace })
      const lists = items
        .filter((item) => isInScopes(spec, resource, item))
        .map((item) => maskList(usageOf(resource, item, this.#clock.now()), own))
      used = { ...used, ...Object.fromEntries(own.map((name) => [name, '0'])), ...addLists(...lists) }
    }
    return used
  }
}

export const startResourceQuotaController = (context: ControllerContext, resources: ApiResources): Controller =>
  new ResourceQuotaController(context, resources)

const idOf = ({ group, plural }: GroupResource): string => `${plural}.${group}`
const keyOf = ({ metadata }: Quota): string => `${metadata.namespace}/${metadata.name}`
const find = (resources: ApiResources, { group, plural }: GroupResource): ApiResource | undefined =>
  resources.current().find((resource) => resource.group === group && resource.plural === plural && resource.namespaced)

/** Returns whether the status of a quota counts all that its spec limits. */
const isCounted = ({ spec, status }: Quota): boolean =>
  sameList(spec?.hard, status?.hard) &&
  Object.keys(spec?.hard ?? {}).every((name) => status?.used?.[name] !== undefined || countedBy(name) === undefined)

const sameList = (a: ResourceList = {}, b: ResourceList = {}): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, amount]) => b[name] === amount)
