import { Interned } from '../shared/api/interned.ts'
import { remembered } from '../shared/api/remembered.ts'
import type { Container, ContainerStatus, Namespace, Node, ObjectMeta, Pod } from '../shared/api/types.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import { type Informer, type InformerOptions, startInformer } from '../shared/client/informer.ts'
import { namespaces, nodes, pods } from '../shared/client/resources.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { Log } from '../shared/log/log.ts'
import { controllerIndex, namespaceIndex } from './workloads/ownership.ts'

/** All that most loops look at. */
export interface Metadata {
  metadata: ObjectMeta
}

/** One watch per collection, however many loops look at it; each begins at the first request for it. */
export interface Informers {
  pods(): Informer<Pod>
  nodes(): Informer<Node>
  namespaces(): Informer<Namespace>
  /** Of any kind; the metadata alone is sure to be kept. */
  metadata(resource: Resource): Informer<Metadata>
  /** Of a kind that is kept as it is, in indexes by `namespace` and by `controller`. */
  whole<T extends Metadata>(resource: Resource): Informer<T>
  /** A watch of its own, for a selector. */
  selected<T extends Metadata>(
    resource: Resource,
    options: Pick<InformerOptions<T>, 'selection' | 'handlers'>,
  ): Informer<T>
  /** Stops watching a kind that is served no longer. */
  drop(resource: Resource): void
  synced(): Promise<void>
  close(): Promise<void>
}

export function createInformers(options: { client: Client; clock: Clock; log: Log }): Informers {
  const { client, clock, log } = options
  const started: Informer<Metadata>[] = []
  const shared = new Map<string, Informer<Metadata>>()

  function start<T extends Metadata>(resource: Resource, more: Partial<InformerOptions<T>>): Informer<T> {
    const onError = (error: unknown): void => log.debug({ err: error, resource: resource.plural }, 'watch failed')
    const informer = startInformer<T>({ client, resource, clock, onError, ...more })
    started.push(informer)
    return informer
  }

  function share<T extends Metadata>(resource: Resource): Informer<T> {
    const key = `${resource.group}/${resource.plural}`
    const informer = shared.get(key) ?? start(resource, trimmed[key] ?? { transform: trimToMetadata })
    shared.set(key, informer)
    return informer as Informer<T>
  }

  return {
    pods: () => share<Pod>(pods),
    nodes: () => share<Node>(nodes),
    namespaces: () => share<Namespace>(namespaces),
    metadata: share,
    whole: share,
    selected: start,
    drop: (resource) => {
      const key = `${resource.group}/${resource.plural}`
      const informer = shared.get(key)
      if (!informer) return
      shared.delete(key)
      started.splice(started.indexOf(informer), 1)
      informer.close().catch((error: unknown) => log.debug({ err: error, resource: key }, 'watch ended badly'))
    },
    synced: async () => {
      await Promise.all(started.map((informer) => informer.synced()))
    },
    close: async () => {
      await Promise.all(started.map((informer) => informer.close()))
    },
  }
}

/** Read by ReplicaSets of the pods that they may delete, and by jobs of the pods that failed. */
const readAnnotations = [
  'controller.kubernetes.io/pod-deletion-cost',
  'batch.kubernetes.io/job-completion-index',
  'batch.kubernetes.io/job-index-failure-count',
  'batch.kubernetes.io/job-index-ignored-failure-count',
]

const indexes = { namespace: namespaceIndex, controller: controllerIndex }
const whole = { indexes }
/** Kinds of which some loop reads more than the metadata. Thousands of copies may be held: what no loop reads is left out. */
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
  'batch/cronjobs': whole,
  'batch/jobs': whole,
  'discovery.k8s.io/endpointslices': whole,
  'policy/poddisruptionbudgets': whole,
  'storage.k8s.io/storageclasses': whole,
}

function trimToMetadata({ metadata }: Metadata): Metadata {
  const { managedFields: _managedFields, annotations: _annotations, ...kept } = metadata
  return { metadata: kept }
}

/** Pods of one template are scheduled alike. */
const specs = new Interned<Pod['spec']>(256)
const labels = new Interned<Record<string, string>>(256)

function trimPod({ metadata, spec, status }: Pod): Pod {
  const kept = trimToMetadata({ metadata }).metadata
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => readAnnotations.includes(name))
  if (annotations.length > 0) kept.annotations = Object.fromEntries(annotations)
  if (kept.labels) kept.labels = labels.of(kept.labels)
  return {
    metadata: kept,
    spec: trimSpec(spec),
    status: {
      phase: status?.phase,
      reason: status?.reason,
      conditions: status?.conditions,
      podIP: status?.podIP,
      startTime: status?.startTime,
      nominatedNodeName: status?.nominatedNodeName,
      // Of most pods none: those that never ended.
      containerStatuses: status?.containerStatuses?.filter(hasEndedOnce),
      initContainerStatuses: status?.initContainerStatuses?.filter(
        (one) => hasEndedOnce(one) && (one.restartCount > 0 || one.state?.terminated?.exitCode !== 0),
      ),
    },
  }
}

const hasEndedOnce = ({ restartCount, state }: ContainerStatus): boolean =>
  restartCount > 0 || state?.terminated !== undefined

const trimSpec = remembered((spec: Pod['spec']): Pod['spec'] =>
  specs.of({
    nodeName: spec.nodeName,
    nodeSelector: spec.nodeSelector,
    affinity: spec.affinity,
    tolerations: spec.tolerations,
    schedulerName: spec.schedulerName,
    schedulingGates: spec.schedulingGates,
    priority: spec.priority,
    preemptionPolicy: spec.preemptionPolicy,
    overhead: spec.overhead,
    hostNetwork: spec.hostNetwork,
    hostname: spec.hostname,
    subdomain: spec.subdomain,
    containers: spec.containers.map(trimContainer),
    initContainers: spec.initContainers?.map(trimContainer),
    volumes: spec.volumes?.filter(({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim ?? ephemeral),
  }),
)

function trimContainer({ name, resources, ports, restartPolicy }: Container): Container {
  return { name, resources, ports, restartPolicy }
}

function trimNode({ metadata, spec, status }: Node): Node {
  return {
    metadata: trimToMetadata({ metadata }).metadata,
    spec,
    status: { allocatable: status?.allocatable, conditions: status?.conditions },
  }
}

function trimNamespace({ metadata, spec, status }: Namespace): Namespace {
  return { metadata, spec, status }
}
