import type { Namespace, ObjectMeta } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { type Informer, type InformerOptions, startInformer } from '../../shared/client/informer.ts'
import { namespaces, nodes, pods } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { tellFailures } from '../../shared/concurrency/loop-failures.ts'
import type { Log } from '../../shared/log/log.ts'
import { controllerIndex, namespaceIndex } from './ownership.ts'
import { SyncGate } from './sync-gate.ts'
import { trimMetadata } from './trimmed-metadata.ts'
import { type TrimmedNode, trimNode } from './trimmed-node.ts'
import { type TrimmedPod, trimPod } from './trimmed-pod.ts'

/**
 * Describes the part of an object that most loops read. `metadata()` leaves `annotations` and `managedFields` out, too.
 */
export interface Metadata {
  metadata: ObjectMeta
}

/** Shares one watch for each collection between all loops. A watch starts at the first request for its collection. */
export interface Informers {
  pods(): Informer<TrimmedPod>
  nodes(): Informer<TrimmedNode>
  namespaces(): Informer<Namespace>
  /**
   * Returns an informer of any kind. Only the metadata of its objects is certain to be kept, without annotations and
   * managedFields.
   */
  metadata(resource: Resource): Informer<Metadata>
  /**
   * Returns an informer whose objects are kept whole, with the indexes `namespace` and `controller`. Throws if the list
   * below does not say that the kind is kept whole.
   */
  whole<T extends Metadata>(resource: Resource): Informer<T>
  /** Starts a separate watch with a selector. */
  selected<T extends Metadata>(
    resource: Resource,
    options: Pick<InformerOptions<T>, 'selection' | 'handlers'>,
  ): Informer<T>
  /** Stops watching a kind that is served no longer. */
  drop(resource: Resource): void
  /**
   * Resolves, if gated, when all that loops read was listed; handlers are called from then on. Rejects if the informers
   * are closed before.
   */
  begin(): Promise<void>
  synced(): Promise<void>
  close(): Promise<void>
}

export interface InformersOptions {
  client: Client
  clock: Clock
  log: Log
  /** Handlers are not called before `begin`. For a client over a network, and for loops that take over from others. */
  isGated?: boolean
}

export function createInformers(options: InformersOptions): Informers {
  const { client, clock, log } = options
  const gate = options.isGated ? new SyncGate() : undefined
  const failed = tellFailures({ clock, log, loop: 'informer', object: ({ plural }: Resource) => plural })
  /** Informers of collections that loops read; not those of all kinds alike. */
  const read: Informer<Metadata>[] = []
  const started: Informer<Metadata>[] = []
  const shared = new Map<string, Informer<Metadata>>()
  /** Maps each gated informer, which loops hold, to the informer behind the gate. */
  const behind = new Map<object, Informer<Metadata>>()

  function start<T extends Metadata>(
    resource: Resource,
    more: Partial<InformerOptions<T>>,
    isRead = true,
  ): Informer<T> {
    const onError = (error: unknown): void => failed(error, resource)
    const { handlers = [], ...others } = more
    const informer = startInformer<T>({ client, resource, clock, onError, ...others, handlers: gate ? [] : handlers })
    started.push(informer)
    if (!gate) return informer
    const gated = gate.behind(informer)
    for (const handler of handlers) gated.addHandler(handler)
    behind.set(gated, informer)
    if (isRead) read.push(informer)
    return gated
  }

  function share<T extends Metadata>(resource: Resource): Informer<T> {
    const key = `${resource.group}/${resource.plural}`
    const informer = shared.get(key) ?? start(resource, trimmed[key] ?? { transform: trimToMetadata }, key in trimmed)
    shared.set(key, informer)
    return informer as Informer<T>
  }

  return {
    pods: () => share<TrimmedPod>(pods),
    nodes: () => share<TrimmedNode>(nodes),
    namespaces: () => share<Namespace>(namespaces),
    metadata: share,
    whole<T extends Metadata>(resource: Resource) {
      const key = `${resource.group}/${resource.plural}`
      if (trimmed[key] !== whole)
        throw new Error(`informers keep the metadata of ${key} alone: add it to controllers/informers/informers.ts`)
      return share<T>(resource)
    },
    selected: (resource, more) => start(resource, more),
    drop: (resource) => {
      const key = `${resource.group}/${resource.plural}`
      const informer = shared.get(key)
      if (!informer) return
      shared.delete(key)
      started.splice(started.indexOf(behind.get(informer) ?? informer), 1)
      behind.delete(informer)
      informer.close().catch((error: unknown) => log.debug({ err: error, resource: key }, 'watch ended badly'))
    },
    async begin() {
      await Promise.all(read.map((informer) => informer.synced()))
      gate?.open()
    },
    synced: async () => {
      await Promise.all(started.map((informer) => informer.synced()))
    },
    close: async () => {
      await Promise.all(started.map((informer) => informer.close()))
    },
  }
}

const indexes = { namespace: namespaceIndex, controller: controllerIndex }
const whole = { indexes }
/**
 * Kinds of which some loop reads more than the metadata. Thousands of copies may be in memory, so fields that no loop
 * reads are left out.
 */
const trimmed: Record<string, { transform?(object: Metadata): Metadata; indexes?: typeof indexes }> = {
  '/pods': { transform: trimPod, indexes },
  '/nodes': { transform: trimNode },
  '/namespaces': { transform: trimNamespace },
  '/endpoints': whole,
  '/persistentvolumeclaims': whole,
  '/persistentvolumes': whole,
  '/replicationcontrollers': whole,
  '/services': whole,
  'apps/controllerrevisions': whole,
  'apps/daemonsets': whole,
  'apps/deployments': whole,
  'apps/replicasets': whole,
  'apps/statefulsets': whole,
  'autoscaling/horizontalpodautoscalers': whole,
  'batch/cronjobs': whole,
  'batch/jobs': whole,
  'discovery.k8s.io/endpointslices': whole,
  'policy/poddisruptionbudgets': whole,
  'storage.k8s.io/storageclasses': whole,
}

function trimToMetadata({ metadata }: Metadata): Metadata {
  return { metadata: trimMetadata(metadata) }
}

function trimNamespace({ metadata, spec, status }: Namespace): Namespace {
  return { metadata, spec, status }
}
